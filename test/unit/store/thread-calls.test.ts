import { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { callsTo } from '../../../services/store/thread-calls.js';

type Store = { readonly list: () => Promise<string>; readonly close: () => Promise<void> };

it('gives the error that has ended the thread to later calls, too', async () => {
  const worker = new Worker('throw new Error("no disk")', { eval: true });
  const { call } = callsTo<Store>(worker, 'audit store');
  for (let times = 0; times < 2; times += 1)
    await expect(call('list')()).rejects.toHaveProperty('cause.message', 'no disk');
});
