import { expect, it } from 'vitest';

import { AdminService } from '../../../../proto/gen/platformidl/service/admin_pb.js';
import { metrics } from '../../../../services/gateway/dispatch/metrics.js';
import { TooManyQueries } from '../../../../services/kernel/fault.js';
import { RpcError } from '../../../../services/kernel/rpc.js';
import { callOf } from './calls.js';

/** The code and the overload flag that the metrics record of a call that fails with an error. */
const recordedOf = async (error: Error): Promise<{ code: string; isShed: boolean }> => {
  const ended: { code: string; isShed: boolean }[] = [];
  const observe = metrics({
    began: () => undefined,
    ended: ({ code, isShed }) => void ended.push({ code, isShed }),
  });
  await observe(callOf(AdminService.method.getTask), () => Promise.reject(error)).catch(() => undefined);
  return ended[0]!;
};

it.each([
  ['an RpcError', new RpcError('RESOURCE_EXHAUSTED', 'later', [], 1_000)],
  ['a fault', new TooManyQueries('busy')],
])('a call that is refused with %s because of overload is counted as shed', async (_name, error) => {
  expect(await recordedOf(error)).toEqual({ code: 'RESOURCE_EXHAUSTED', isShed: true });
});

it.each([
  ['without a time to retry', new RpcError('RESOURCE_EXHAUSTED', 'message larger than max'), 'RESOURCE_EXHAUSTED'],
  ['because an issuer is away', new RpcError('UNAVAILABLE', 'try again later', [], 1_000), 'UNAVAILABLE'],
])('a call that is refused %s is not counted as shed', async (_name, error, code) => {
  expect(await recordedOf(error)).toEqual({ code, isShed: false });
});
