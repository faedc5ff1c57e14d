import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

/** The ratios that `measured-sizes.ts` sends from a process of its own, each by the name of what was measured. */
const measured = async (): Promise<Readonly<Record<string, number>>> => {
  const child = fork(fileURLToPath(new URL('./measured-sizes.js', import.meta.url)), { execArgv: ['--expose-gc'] });
  const [ratios] = (await once(child, 'message')) as [Readonly<Record<string, number>>];
  return ratios;
};

describe('the size that a cached thing declares', () => {
  it('is the memory that it takes, within a factor of 1.5', async () => {
    const ratios = await measured();
    const wrong = Object.entries(ratios).filter(([, ratio]) => !(ratio > 1 / 1.5 && ratio < 1.5));
    expect(wrong).toEqual([]);
    expect(Object.keys(ratios)).toHaveLength(41); // the measurements of measured-sizes.ts: none was lost
  }, 120_000);
});
