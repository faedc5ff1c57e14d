import { expect, it } from 'vitest';

import { externalMetadata } from '../../../services/auth/metadata/external.js';
import { issuerDocument } from '../../../services/auth/tokens/issuer-metadata.js';

const ISSUER = 'https://issuer.example';
const TEN_MINUTES_MS = 600_000;
const MINUTE_MS = 60_000;

// The tests that use `metadata` run in their order, on one clock and one cache.
const clock = { now: 0 };
let isAway = false;
/** The addresses that were requested. */
let asked: string[] = [];

const metadata = externalMetadata(
  ISSUER,
  async (url) => {
    asked.push(url);
    await Promise.resolve();
    if (isAway) throw new Error('away');
    return { issuer: ISSUER, token_endpoint: `${ISSUER}/token`, jwks_uri: null, scopes_supported: null };
  },
  () => clock.now,
);

it('the metadata of an issuer are UNAVAILABLE until it has answered once', async () => {
  isAway = true;
  await expect(metadata()).rejects.toMatchObject({
    ...{ code: 'UNAVAILABLE', retryAfterMs: 5_000 },
    cause: { cause: { message: 'away' } }, // for the log
  });
});

it('the reasons of both addresses are in the error when neither has the metadata of the issuer', async () => {
  const error: unknown = await issuerDocument(ISSUER, (url) =>
    url.endsWith('/openid-configuration')
      ? Promise.resolve({ issuer: `${ISSUER}/` })
      : Promise.reject(new Error('404')),
  ).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({
    cause: { message: `${ISSUER}/.well-known/openid-configuration names another issuer, ${ISSUER}/; 404` },
  });
});

it('the metadata of an issuer are fetched once for calls that wait together, and kept for ten minutes', async () => {
  [isAway, asked] = [false, []];
  const answers = await Promise.all([metadata(), metadata(), metadata()]);
  for (const answer of answers) expect(answer).toMatchObject({ issuer: ISSUER, tokenEndpoint: `${ISSUER}/token` });
  clock.now += TEN_MINUTES_MS - 1;
  await metadata();
  expect(asked).toEqual([`${ISSUER}/.well-known/openid-configuration`]);
});

it('the metadata of an issuer that is away are those that it gave last', async () => {
  [isAway, asked] = [true, []];
  clock.now += TEN_MINUTES_MS;
  expect(await metadata()).toMatchObject({ issuer: ISSUER });
  expect(asked).toHaveLength(2); // both well-known addresses
});

it('an issuer that is away is asked again after a minute', async () => {
  [isAway, asked] = [true, []];
  clock.now += MINUTE_MS - 1;
  await metadata();
  expect(asked).toEqual([]);
  clock.now += 1;
  await metadata();
  expect(asked).toHaveLength(2);
});

it('fields that are null in the metadata of an issuer count as absent', async () => {
  isAway = false;
  clock.now += MINUTE_MS;
  expect(await metadata()).toMatchObject({ jwksUri: '', scopesSupported: [], deviceAuthorizationEndpoint: '' });
});
