import { expect, it } from 'vitest';

import { adviceFor } from '../../../console/look/advice.js';
import { ServerFailure } from '../../../console/server/failure.js';

const adviceOf = (status: number, requestId: string): string =>
  adviceFor(new ServerFailure('no', { status, requestId }), false);

it('the advice is to try again later where the server is overloaded or unavailable', () => {
  for (const status of [429, 503]) expect(adviceOf(status, 'r1')).toBe('Try again later.');
});

it('the advice is to look into the log by the id of a request only where that is known', () => {
  expect(adviceOf(500, 'r1')).toBe('The log of the server has more, by the id of the request.');
  expect(adviceOf(500, '')).toBe('The log of the server has more.');
});
