import { expect, it } from 'vitest';

import { closeInOrder } from '../../../services/main/close-in-order.js';

it('parts are closed in order, also after one has failed, and the first failure is thrown', async () => {
  const closed: string[] = [];
  const part = (name: string, failure?: Error) => ({
    close: async () => {
      await Promise.resolve();
      closed.push(name);
      if (failure) throw failure;
    },
  });
  const first = new Error('the views have failed');
  const parts = [part('calls'), part('views', first), undefined, part('export', new Error('later')), part('log')];
  await expect(closeInOrder(parts)).rejects.toBe(first);
  expect(closed).toEqual(['calls', 'views', 'export', 'log']);
});
