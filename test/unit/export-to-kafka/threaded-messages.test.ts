import { expect, it } from 'vitest';

import { threadedMessages } from '../../../services/main/export/threaded-messages.js';

it('a subscription ends with the failure of its thread to open the log', async () => {
  const directory = '/nowhere/flightlog';
  const messages = threadedMessages({
    directory,
    location: { kind: 'file' },
    source: { kind: 'embedded', directory },
    format: 'json',
  });
  const wanted = { after: 0n, partition: 0, partitions: 1, maxBytes: new Map<string, number>() };
  const { ended } = messages.follow(wanted, () => Promise.resolve());
  await expect(ended).rejects.toThrow(/nowhere/u);
});
