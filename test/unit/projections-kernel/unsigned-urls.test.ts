import { expect, it } from 'vitest';
import { UNSIGNED_URLS } from '../../../projections/query/unsigned-urls.js';

it('the URLs that all answers share cannot be changed by one of them', () => {
  for (const each of [UNSIGNED_URLS, UNSIGNED_URLS.inputs, UNSIGNED_URLS.outputs])
    expect(() => Object.assign(each, { inputs: 'signed' })).toThrow(TypeError);
});
