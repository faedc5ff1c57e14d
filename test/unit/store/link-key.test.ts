import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';

import { CHECKOUT, start } from '../../support/processes/command.js';

const directory = mkdtempSync(join(tmpdir(), 'flightlog-link-key-'));

afterAll(() => rmSync(directory, { recursive: true }));

const program = `
  const { linkKey } = await import('${CHECKOUT}/dist/services/store/uploads/file-links.js');
  process.stdout.write(Buffer.from(linkKey('${directory}')).toString('hex'));`;

it('processes that make the key of links at the same time all have the same key', async () => {
  const running = Array.from({ length: 4 }, () => start(process.execPath, ['--input-type=module', '-e', program]));
  const keys = await Promise.all(running.map(({ ended }) => ended));
  expect(keys.map(({ code, stderr }) => [code, stderr])).toEqual(keys.map(() => [0, '']));
  expect(new Set(keys.map(({ stdout }) => stdout)).size).toBe(1);
  expect(keys[0]?.stdout).toHaveLength(64); // 32 bytes in hexadecimal digits
  expect(readdirSync(directory)).toEqual(['link.key']);
});
