import { expect, it } from 'vitest';

import { durationText } from '../../../console/look/times.js';

it.each([
  [-1, '0 ms'],
  [999.4, '999 ms'],
  [999.6, '1.00 s'],
  [1_570, '1.57 s'],
  [9_994, '9.99 s'],
  [9_996, '10.0 s'],
  [59_940, '59.9 s'],
  [59_960, '1 min 00 s'],
  [185_900, '3 min 05 s'],
  [3_599_900, '59 min 59 s'],
  [3_599_960, '1 h 00 min'],
  [7_800_000, '2 h 10 min'],
  [90_000_000, '1 d 1 h'],
])('a length of %d ms is written as %s', (ms, text) => expect(durationText(ms)).toBe(text));
