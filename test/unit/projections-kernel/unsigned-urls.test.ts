import { expect, it } from 'vitest';
import { UNSIGNED_URLS } from '../../../projections/query/unsigned-urls.js';

it('the URLs that all answers share cannot be changed through one answer', () => {
  for (const each of [UNSIGNED_URLS, UNSIGNED_URLS.inputs, UNSIGNED_URLS.outputs])
    expect(() => Object.assign(each, { inputs: 'signed' })).toThrow(TypeError);
});
