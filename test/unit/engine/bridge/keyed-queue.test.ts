import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createKeyedQueue } from '../../../../engine/bridge/keyed-queue.js';

it('a keyed queue that was closed begins no work, not even on keys that wait for a slot', async () => {
  const worked: string[] = [];
  let open = (): void => undefined;
  const isOpen = new Promise<void>((resolve) => (open = resolve));
  const queue = createKeyedQueue({
    concurrency: 1,
    work: async (key) => {
      worked.push(key);
      await isOpen;
    },
    onFailure: () => undefined,
  });
  queue.add('running');
  queue.add('waiting');
  await turn();
  queue.close();
  open();
  for (let turns = 0; turns < 5; turns += 1) await turn();
  expect(worked).toEqual(['running']);
});
