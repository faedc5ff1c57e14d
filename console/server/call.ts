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
import { requestIdIn } from './answer-headers.js';
import { failureOf, received, ServerFailure } from './failure.js';
import { serverAddress } from './root.js';
import { leaveToSignIn } from './sign-in.js';

const OCTETS = 'application/octet-stream';
const UNAUTHENTICATED = 401;

/** Limit of nesting when an answer is decoded: the server accepts 100 levels, and answers have some around those. */
const MAX_DEPTH = 200;

const ID_BYTES = 16;
const HEXADECIMAL = 16;

/** Makes the id of a request. `crypto.randomUUID` is missing where the page comes over plain HTTP. */
const newRequestId = (): string =>
  [...crypto.getRandomValues(new Uint8Array(ID_BYTES))]
    .map((byte) => byte.toString(HEXADECIMAL).padStart(2, '0'))
    .join('');

/** The answer of an RPC, with what its headers say. */
export type Answer<Message> = {
  readonly message: Message;
  /** The log position that a read is based on; after a change that of its stream's last event. */
  readonly position: bigint | undefined;
  /** As the server has recorded it: a proxy may have replaced the id that the page has sent. */
  readonly requestId: string;
  /** The fields that the message lacks because they could not be read, each with its fault; empty without such. */
  readonly unread: ReadonlyMap<string, string>;
};

/** The position in a token of the server, which begins with the id of the log and a dot. */
const positionIn = (answer: Response): bigint | undefined => {
  const position = answer.headers.get('flightlog-position')?.split('.').at(-1);
  return position === undefined ? undefined : BigInt(position);
};

/** The fields and faults of a header such as `full_inputs=store-unavailable, full_outputs=corrupt-payload`. */
const unreadIn = (answer: Response): ReadonlyMap<string, string> =>
  new Map(
    [...(answer.headers.get('flightlog-unread') ?? '').matchAll(/(\w+)=([\w-]+)/gu)].map(
      ([, field = '', fault = '']) => [field, fault],
    ),
  );

const NOT_IMPLEMENTED = 501;

/** @throws {ServerFailure} for a value with a slash in a path: by it, the server would find another RPC, or none. */
const refuseSlash = (path: string): void => {
  const [place = ''] = path.split('?', 1);
  const value = place.split('/').find((segment) => segment.includes('%2F'));
  if (value === undefined) return;
  const message = `“${decodeURIComponent(value)}” has a slash, and REST finds nothing by such a name or version`;
  throw new ServerFailure(message, { status: NOT_IMPLEMENTED, requestId: '' });
};

/**
 * Calls an RPC by its HTTP binding, which the generated descriptors have, with protobuf bytes both ways.
 *
 * @throws {ServerFailure} when the server refuses or fails.
 * @throws {ServerUnreachable} when no answer comes, or only a part of it; after an abort by the signal, the error of
 * the abort.
 */
export const callRpc = async <Input extends DescMessage, Output extends DescMessage>(
  method: DescMethodUnary<Input, Output>,
  init: MessageInitShape<Input>,
  signal?: AbortSignal,
): Promise<Answer<MessageShape<Output>>> => {
  const sentId = newRequestId();
  const input = create(method.input, init);
  const { verb, path, hasBody } = bindingOf(method, input);
  refuseSlash(path);
  const request = fetch(serverAddress(path), {
    method: verb,
    headers: {
      accept: OCTETS,
      // Without it, changes by cookie are refused where the browser sends no `Sec-Fetch-Site`.
      'flightlog-csrf': 'console',
      'x-request-id': sentId,
      ...(hasBody && { 'content-type': OCTETS }),
    },
    ...(hasBody && { body: new Uint8Array(toBinary(method.input, input)) }),
    ...(signal && { signal }),
  });
  const answer = await received(request, signal);
  if (answer.status === UNAUTHENTICATED) leaveToSignIn();
  const requestId = requestIdIn(answer, sentId);
  if (!answer.ok) throw await failureOf(answer, requestId);
  const bytes = new Uint8Array(await received(answer.arrayBuffer(), signal));
  const message = fromBinary(method.output, bytes, { recursionLimit: MAX_DEPTH });
  return { message, position: positionIn(answer), requestId, unread: unreadIn(answer) };
};

/**
 * Calls an RPC, and gives the message of its answer.
 *
 * @throws as `callRpc` does.
 */
export const call = async <Input extends DescMessage, Output extends DescMessage>(
  method: DescMethodUnary<Input, Output>,
  init: MessageInitShape<Input>,
  signal?: AbortSignal,
): Promise<MessageShape<Output>> => (await callRpc(method, init, signal)).message;
