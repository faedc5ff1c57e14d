import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';

/**
 * Keeps the newest 300,000 entries, some 70 MB. From entry 600,000 on, it waits for four full collections, and prints the
 * ratio of the largest heap before a collection to the smallest after one. The first collection does not count. With
 * fewer entries the young generation, which the limit is not about, would be a large part of the heap: Node 24 gives it
 * the most memory.
 */
const CHURN = `
  const { getHeapStatistics } = await import('node:v8');
  const live = new Map();
  let [at, used, most, least, seen] = [0, 0, 0, Infinity, 0];
  while (seen < 4) {
    live.set(at, { numbers: [at, at + 1, at + 2], text: 'x' + at });
    live.delete(at - 300_000);
    at += 1;
    if (at % 5_000 !== 0) continue;
    const now = getHeapStatistics().used_heap_size;
    const isCollected = at > 600_000 && now < used - 10_000_000;
    if (isCollected) seen += 1;
    if (isCollected && seen > 1) [most, least] = [Math.max(most, used), Math.min(least, now)];
    used = now;
  }
  console.log(most / least);
`;

/** The ratio that the program prints when this code runs before it. */
const grown = (before: string): number =>
  Number(execFileSync(process.execPath, ['--input-type=module', '--eval', before + CHURN]).toString());

it('heaps grow to less than three times of what is live before they are collected', () => {
  const module = new URL('../../../services/main/heap-growth.js', import.meta.url).href;
  expect(grown(`(await import('${module}')).boundHeapGrowth();`)).toBeLessThan(3);
});
