import { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { callsTo } from '../../../services/store/thread-calls.js';

type Store = { readonly list: () => Promise<string>; readonly close: () => Promise<void> };

it('calls to a thread that an error has ended fail with this error, the first call and later ones', async () => {
  const worker = new Worker('throw new Error("no disk")', { eval: true });
  const { call } = callsTo<Store>(worker, 'audit store');
  for (let times = 0; times < 2; times += 1)
    await expect(call('list')()).rejects.toHaveProperty('cause.message', 'no disk');
});
