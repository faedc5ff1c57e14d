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

/**
 * Calls an RPC by its HTTP binding, which the generated descriptors have, with protobuf bytes both ways.
 *
 * @throws {ServerFailure} when the server refuses or fails.
 * @throws {ServerUnreachable} when no answer comes.
 */
export const call = async <Input extends DescMessage, Output extends DescMessage>(
  method: DescMethodUnary<Input, Output>,
  init: MessageInitShape<Input>,
  signal?: AbortSignal,
): Promise<MessageShape<Output>> => {
  const input = create(method.input, init);
  const { verb, path, hasBody } = bindingOf(method, input);
  const answer = await fetch(serverAddress(path), {
    method: verb,
    // The second header says that a page of this server asks: changes by cookie are refused without it.
    headers: { accept: OCTETS, 'flightlog-csrf': 'console', ...(hasBody && { 'content-type': OCTETS }) },
    ...(hasBody && { body: new Uint8Array(toBinary(method.input, input)) }),
    ...(signal && { signal }),
  }).catch((error: unknown) => {
    if (signal?.aborted === true) throw error;
    throw new ServerUnreachable('the server does not answer', { cause: error });
  });
  if (answer.status === UNAUTHENTICATED) leaveToSignIn();
  if (!answer.ok) throw await failureOf(answer);
  return fromBinary(method.output, new Uint8Array(await answer.arrayBuffer()));
};
