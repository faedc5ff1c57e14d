import { expect, it } from 'vitest';

import { logFailure } from '../../../services/gateway/log.js';
import { RpcError, unavailable } from '../../../services/kernel/rpc.js';

it('calls that fail for the same cause outside the process give one line in the log, and another cause gives another line', () => {
  const lines: string[] = [];
  const write = (_: object, message: string) => void lines.push(message);
  const fail = (error: Error) =>
    logFailure({ warn: write, error: write }, error, { requestId: 'r', rpc: 'GetProject' });
  const cause = new Error('connect ECONNREFUSED');
  for (const message of ['no keys yet', 'still no keys']) fail(unavailable(message, cause));
  expect(lines).toEqual(['a call has failed']);
  fail(unavailable('no keys yet', new Error('connect ECONNREFUSED')));
  fail(new RpcError('UNAVAILABLE', 'without a cause'));
  expect(lines).toHaveLength(2);
});
