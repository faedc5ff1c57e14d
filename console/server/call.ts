import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';

import { bindingOf } from '../../interface/rest/binding.js';
import { failureOf, ServerUnreachable } from './failure.js';
import { serverAddress } from './root.js';
import { leaveToSignIn } from './sign-in.js';

const OCTETS = 'application/octet-stream';
const UNAUTHENTICATED = 401;

const ID_BYTES = 16;
const HEXADECIMAL = 16;

/** Makes the id of a request. `crypto.randomUUID` is missing where the page comes over plain HTTP. */
const newRequestId = (): string =>
  [...crypto.getRandomValues(new Uint8Array(ID_BYTES))]
    .map((byte) => byte.toString(HEXADECIMAL).padStart(2, '0'))
    .join('');

type Sent = { readonly answer: Response; readonly requestId: string };

/** Sends the request of an RPC by its HTTP binding, which the generated descriptors have, as protobuf bytes. */
const send = async <Input extends DescMessage, Output extends DescMessage>(
  method: DescMethodUnary<Input, Output>,
  init: MessageInitShape<Input>,
  signal?: AbortSignal,
): Promise<Sent> => {
  const requestId = newRequestId();
  const input = create(method.input, init);
  const { verb, path, hasBody } = bindingOf(method, input);
  const answer = await fetch(serverAddress(path), {
    method: verb,
    headers: {
      accept: OCTETS,
      'flightlog-csrf': 'console', // a page of this server asks: changes by cookie are refused without it
      'x-request-id': requestId,
      ...(hasBody && { 'content-type': OCTETS }),
    },
    ...(hasBody && { body: new Uint8Array(toBinary(method.input, input)) }),
    ...(signal && { signal }),
  }).catch((error: unknown) => {
    if (signal?.aborted === true) throw error;
    throw new ServerUnreachable('the server does not answer', { cause: error });
  });
  if (answer.status === UNAUTHENTICATED) leaveToSignIn();
  if (!answer.ok) throw await failureOf(answer, requestId);
  return { answer, requestId };
};

const messageOf = async <Output extends DescMessage>(
  { output }: { readonly output: Output },
  answer: Response,
): Promise<MessageShape<Output>> => fromBinary(output, new Uint8Array(await answer.arrayBuffer()));

/**
 * Calls an RPC.
 *
 * @throws {ServerFailure} when the server refuses or fails.
 * @throws {ServerUnreachable} when no answer comes.
 */
export const call = async <Input extends DescMessage, Output extends DescMessage>(
  method: DescMethodUnary<Input, Output>,
  init: MessageInitShape<Input>,
  signal?: AbortSignal,
): Promise<MessageShape<Output>> => messageOf(method, (await send(method, init, signal)).answer);

/** The position of the last event of the stream that an action has changed, and the id of the action's request. */
export type Recorded = { readonly position: string; readonly requestId: string };

/**
 * Calls an RPC that changes something.
 *
 * @throws as `call` does.
 */
export const change = async <Input extends DescMessage, Output extends DescMessage>(
  method: DescMethodUnary<Input, Output>,
  init: MessageInitShape<Input>,
): Promise<{ readonly message: MessageShape<Output>; readonly recorded: Recorded | undefined }> => {
  const { answer, requestId } = await send(method, init);
  const position = answer.headers.get('flightlog-position')?.split('.').at(-1);
  return {
    message: await messageOf(method, answer),
    recorded: position === undefined ? undefined : { position, requestId },
  };
};
