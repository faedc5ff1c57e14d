import { expect, it } from 'vitest';
import { openTails } from '../../../services/main/tail/tails.js';

it('no tail begins after the tails of a process were closed', async () => {
  const directory = '/no-such-directory';
  const source = { kind: 'embedded', directory } as const;
  const tails = openTails({ directory, location: { kind: 'file' }, views: { kind: 'sqlite' }, source });
  await tails.close();
  const client = { form: 'messages', disconnected: new AbortController().signal } as const;
  const begun = tails.open(new Uint8Array(), client)[Symbol.asyncIterator]().next();
  await expect(begun).rejects.toMatchObject({ code: 'UNAVAILABLE', message: 'shutting down' });
});
