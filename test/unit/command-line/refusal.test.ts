import { expect, it } from 'vitest';
import { grpcStatusNumber } from '../../../services/kernel/grpc-status.js';
import { Refused } from '../../../services/cli/client/connection/refusal.js';

it.each([
  ['ALREADY_EXISTS', 'concurrency limit (1) reached for launch plan p; skipping execution'],
  ['RESOURCE_EXHAUSTED', 'the page is too large: request fewer elements'],
] as const)('a refusal with the code %s gets no advice, because no one advice fits all its reasons', (code, reason) => {
  expect(new Refused(grpcStatusNumber(code), reason).message).toBe(`${code}: ${reason}`);
});

it('a refusal of a server that is away says to try again later', () => {
  expect(new Refused(grpcStatusNumber('UNAVAILABLE'), 'shutting down').message).toBe(
    'UNAVAILABLE: shutting down; try again later',
  );
});
