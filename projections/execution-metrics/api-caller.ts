import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
} from '@bufbuild/protobuf';

import { ANSWER_DEPTH } from '../../services/kernel/encoding/answer-depth.js';
import type { Call, Route } from '../../services/kernel/rpc.js';

/**
 * Calls another read method of the API. Permissions are not checked.
 *
 * @throws {RpcError} as that method does.
 */
export type CallApi = <Input extends DescMessage, Output extends DescMessage>(
  method: DescMethodUnary<Input, Output>,
  request: MessageInitShape<Input>,
) => Promise<MessageShape<Output>>;

/** Makes a function that calls read methods through their routes, for the principal of a call. */
export const apiCaller = (routes: readonly Route[], caller: Call): CallApi => {
  const { principal, requestId, minPosition } = caller;
  const call: Call = {
    principal,
    requestId,
    ...(minPosition !== undefined && { minPosition }),
    isCancelled: () => caller.isCancelled(),
    answeredAt: () => undefined,
  };
  return async (method, request) => {
    const found = routes.find((route) => route.method.name === method.name);
    if (found === undefined) throw new Error(`no route reads ${method.name}`);
    const answer = await found.handle(create(method.input, request) as never, call);
    return answer instanceof Uint8Array
      ? fromBinary(method.output, answer, { recursionLimit: ANSWER_DEPTH })
      : (answer as MessageShape<typeof method.output>);
  };
};
