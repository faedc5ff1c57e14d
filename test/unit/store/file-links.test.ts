import { expect, it } from 'vitest';

import { fileLinks } from '../../../services/store/uploads/file-links.js';

it('a link is valid for as long as was asked for, and less than a second longer', async () => {
  const clock = { now: 10_999 };
  const links = fileLinks({ key: new Uint8Array(32), publicUrl: () => 'http://localhost', now: () => clock.now });
  const link = new URL(await links.make({ does: 'get', place: 'uploads/p/d/file' }, 1));
  clock.now += 1_000;
  expect(await links.read(link, 'get')).toMatchObject({ key: { project: 'p', path: 'file' } });
  clock.now += 1_000;
  expect(await links.read(link, 'get')).toBeUndefined();
});
