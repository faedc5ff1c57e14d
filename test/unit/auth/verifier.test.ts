import { beforeEach, describe, expect, it } from 'vitest';

import type { FetchJson } from '../../../services/auth/tokens/issuer-metadata.js';
import type { RemoteIssuer } from '../../../services/auth/tokens/issuer.js';
import { tokenVerifier } from '../../../services/auth/tokens/verifier.js';
import { RpcError } from '../../../services/kernel/rpc.js';
import { secondsOf, type TestIssuer, testIssuer, wrongTokens } from '../../support/servers/token-issuer.js';

const SECOND_MS = 1_000;
const TEN_MINUTES_SECONDS = 600;
const DAY_SECONDS = 86_400;
const CLOCK_SKEW_SECONDS = 30;

let issuer: TestIssuer;
/** Addresses that were fetched; of introspections also the `authorization` header. */
let fetched: string[];
/** True while the issuer does not answer. */
let isAway: boolean;

beforeEach(() => {
  issuer = testIssuer();
  fetched = [];
  isAway = false;
});

/** The issuer as it answers over HTTP. */
const fetchJson: FetchJson = async (url) => {
  fetched.push(url);
  if (isAway) throw new Error('away');
  if (url.endsWith('/openid-configuration')) return { issuer: issuer.issuer, jwks_uri: `${issuer.issuer}/keys` };
  return issuer.jwks();
};

/** A verifier of the tokens of the issuer, with changed settings. */
const verifierOf = (settings: Partial<RemoteIssuer> = {}) =>
  tokenVerifier(
    [
      {
        issuer: issuer.issuer,
        audience: ['flightlog'],
        algorithms: ['ES256'],
        clockSkewMs: CLOCK_SKEW_SECONDS * SECOND_MS,
        ...settings,
      },
    ],
    [],
    { fetchJson, now: () => issuer.clock.now },
  );

const refusalText = (error: unknown): string =>
  error instanceof RpcError ? `${error.code}: ${error.message}` : 'no RpcError';

describe('a token', () => {
  it('names its subject, client and scopes', async () => {
    const token = await issuer.token({ client_id: 'cli', scope: 'all offline', scp: ['read'] });
    const { identity } = await verifierOf().verify(token);
    expect(identity).toMatchObject({ principal: 'ada', clientId: 'cli', scopes: ['all', 'offline', 'read'] });
  });

  it.each([
    ['scp', 5],
    ['scope', { read: true }],
    ['scp', ['read', 5]],
  ])('is refused when its claim %s is %j, which is no scope', async (claim, value) => {
    const verified = verifierOf().verify(await issuer.token({ [claim]: value }));
    expect(await verified.then(() => 'accepted', refusalText)).toBe(
      `UNAUTHENTICATED: the claim ${claim} of the token is neither a text nor a list of texts`,
    );
  });

  it('without a subject has its client as principal', async () => {
    const { identity } = await verifierOf().verify(await issuer.token({ sub: undefined, client_id: 'engine' }));
    expect(identity.principal).toBe('engine');
  });

  it('is refused with the reason, which repeats nothing of the token', async () => {
    const verifier = verifierOf();
    const refused: Record<string, string> = {};
    for (const [name, token] of Object.entries(await wrongTokens(issuer)))
      refused[name] = await verifier.verify(token).then(
        () => 'accepted',
        (error: unknown) => refusalText(error),
      );
    expect(refused).toEqual({
      garbage: 'UNAUTHENTICATED: the token is no JWT, and no issuer that verifies other tokens is configured',
      'three parts of garbage': 'UNAUTHENTICATED: the token is malformed',
      expired: 'UNAUTHENTICATED: the token has expired',
      'without expiry': 'UNAUTHENTICATED: the token has no expiry',
      'not valid yet': 'UNAUTHENTICATED: the token is not valid yet',
      'for another audience': 'UNAUTHENTICATED: the token is for another audience',
      'of another issuer': 'UNAUTHENTICATED: the issuer of the token is not configured',
      'signed with an unknown key': 'UNAUTHENTICATED: the token is signed with an unknown key',
      'signed with another key of a known id': 'UNAUTHENTICATED: the signature of the token is wrong',
      'with the algorithm none': 'UNAUTHENTICATED: the token is signed with an algorithm that is not allowed',
      'signed with HS256 and the public key':
        'UNAUTHENTICATED: the token is signed with an algorithm that is not allowed',
      'changed after signing': 'UNAUTHENTICATED: the signature of the token is wrong',
      'without a subject': 'UNAUTHENTICATED: the token names no subject',
    });
  });

  it('is accepted within the clock skew, after its expiry and before its start', async () => {
    const now = secondsOf(issuer.clock.now);
    const verifier = verifierOf();
    await expect(verifier.verify(await issuer.token({ exp: now - (CLOCK_SKEW_SECONDS - 10) }))).resolves.toBeDefined();
    await expect(verifier.verify(await issuer.token({ nbf: now + (CLOCK_SKEW_SECONDS - 10) }))).resolves.toBeDefined();
  });

  it('need not be verified again until its expiry plus the clock skew, and for ten minutes at most', async () => {
    const { now } = issuer.clock;
    const soon = await verifierOf().verify(await issuer.token({ exp: secondsOf(now) + 60 }));
    expect(soon.until).toBe(now + (60 + CLOCK_SKEW_SECONDS) * SECOND_MS);
    const late = await verifierOf().verify(await issuer.token({ exp: secondsOf(now) + DAY_SECONDS }));
    expect(late.until).toBe(now + TEN_MINUTES_SECONDS * SECOND_MS);
  });
});

describe('the keys of an issuer', () => {
  it('are discovered and fetched once', async () => {
    const verifier = verifierOf();
    const tokens = await Promise.all([issuer.token(), issuer.token({ sub: 'bob' }), issuer.token({ sub: 'eve' })]);
    await Promise.all(tokens.map((token) => verifier.verify(token)));
    expect(fetched).toEqual(['https://issuer.test/.well-known/openid-configuration', 'https://issuer.test/keys']);
  });

  it('are fetched again for a new key id', async () => {
    const verifier = verifierOf({ jwksUrl: 'https://issuer.test/keys' });
    await verifier.verify(await issuer.token());
    issuer.rotate('second');
    issuer.clock.now += 10 * SECOND_MS;
    await expect(verifier.verify(await issuer.token())).resolves.toBeDefined();
    expect(fetched).toHaveLength(2);
  });

  it('are fetched at most once in ten seconds, however many unknown key ids come', async () => {
    const verifier = verifierOf({ jwksUrl: 'https://issuer.test/keys' });
    await verifier.verify(await issuer.token());
    for (let second = 0; second < 20; second++) {
      issuer.clock.now += SECOND_MS;
      const tokens = await Promise.all(
        Array.from({ length: 50 }, (_, at) => issuer.token({}, { kid: `${second}-${at}` })),
      );
      await Promise.allSettled(tokens.map((token) => verifier.verify(token)));
    }
    expect(fetched).toHaveLength(3); // the first time, and twice in these twenty seconds
  });

  it('are fetched again for a new key id after the clock of this server was set back', async () => {
    const verifier = verifierOf({ jwksUrl: 'https://issuer.test/keys' });
    await verifier.verify(await issuer.token());
    issuer.rotate('second');
    issuer.clock.now -= 3_600 * SECOND_MS;
    await expect(verifier.verify(await issuer.token())).resolves.toBeDefined();
  });

  it('still verify tokens after the issuer was away for a day', async () => {
    const verifier = verifierOf();
    await verifier.verify(await issuer.token());
    isAway = true;
    issuer.clock.now += DAY_SECONDS * SECOND_MS;
    await expect(verifier.verify(await issuer.token())).resolves.toBeDefined();
    await expect(verifier.verify(await issuer.token({}, { kid: 'unknown' }))).rejects.toMatchObject({
      code: 'UNAUTHENTICATED',
    });
  });

  it('that were never fetched leave a token unverified, as UNAVAILABLE, until the issuer answers', async () => {
    const verifier = verifierOf();
    isAway = true;
    await expect(verifier.verify(await issuer.token())).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      cause: { cause: { message: 'away' } }, // for the log
    });
    isAway = false;
    issuer.clock.now += 10 * SECOND_MS;
    await expect(verifier.verify(await issuer.token())).resolves.toBeDefined();
  });

  it('verify no token once the issuer has withdrawn them', async () => {
    const verifier = verifierOf();
    const token = await issuer.token({ exp: secondsOf(issuer.clock.now) + DAY_SECONDS });
    await verifier.verify(token);
    issuer.rotate('second');
    issuer.clock.now += (TEN_MINUTES_SECONDS + 1) * SECOND_MS;
    await verifier.verify(await issuer.token()); // the first use after ten minutes fetches the keys again
    await expect(verifier.verify(token)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });
});

describe('an issuer in this process', () => {
  const local = () => ({
    issuer: issuer.issuer,
    audience: ['flightlog'],
    algorithms: ['ES256', 'HS256', 'none'],
    keyOf: (keyId: string) => Promise.resolve(keyId === 'first' ? issuer.publicKey() : undefined),
  });

  it('has its tokens verified with its own keys by the rules for other issuers, and nothing is fetched', async () => {
    const verifier = tokenVerifier([], [local()], { fetchJson, now: () => issuer.clock.now });
    await expect(verifier.verify(await issuer.token())).resolves.toMatchObject({ identity: { principal: 'ada' } });
    for (const token of Object.values(await wrongTokens(issuer)))
      await expect(verifier.verify(token)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
    expect(fetched).toEqual([]);
  });
});

describe('an opaque token', () => {
  /** A verifier whose issuer answers the introspection of every token with these claims. */
  const answering = (claims: object) =>
    tokenVerifier(
      [
        {
          ...{ issuer: issuer.issuer, audience: ['flightlog'], algorithms: ['ES256'], clockSkewMs: 0 },
          introspection: { url: 'https://issuer.test/ask', clientId: 'a:b', clientSecret: 's c', cacheMs: 60_000 },
        },
      ],
      [],
      {
        fetchJson: (url, request) => {
          fetched.push(url, String((request!.headers as Record<string, string>)['authorization']));
          return isAway ? Promise.reject(new Error('away')) : Promise.resolve(claims);
        },
        now: () => issuer.clock.now,
      },
    );

  it('is accepted when the issuer says so, and need not be verified again for the configured time', async () => {
    const verifier = answering({ active: true, sub: 'ada', aud: ['flightlog'], scope: 'all' });
    await expect(verifier.verify('opaque')).resolves.toMatchObject({
      identity: { principal: 'ada', scopes: ['all'] },
      until: issuer.clock.now + 60_000,
    });
    // The id and the secret of the client are form-encoded before they become Basic credentials (RFC 6749, 2.3.1).
    expect(fetched).toEqual(['https://issuer.test/ask', `Basic ${Buffer.from('a%3Ab:s+c').toString('base64')}`]);
  });

  it.each<[object]>([
    [{ active: false, sub: 'ada', aud: 'flightlog' }],
    [{ active: true, sub: 'ada', aud: 'another' }],
    [{ active: true, sub: 'ada' }],
    [{ active: true, sub: 'ada', aud: 'flightlog', exp: 1 }],
    [{ active: 'yes', sub: 'ada', aud: 'flightlog' }],
    [['nonsense']],
  ])('is refused after the answer %j', async (claims) => {
    await expect(answering(claims).verify('opaque')).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });

  it('is answered with UNAVAILABLE while the issuer is away', async () => {
    isAway = true;
    await expect(answering({}).verify('opaque')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  it('is accepted when one issuer is away and another one knows it', async () => {
    const issuerAt = (name: string): RemoteIssuer => ({
      ...{ issuer: `https://${name}.test`, audience: ['flightlog'], algorithms: ['ES256'], clockSkewMs: 0 },
      introspection: { url: `https://${name}.test/ask`, clientId: 'a', clientSecret: 'b', cacheMs: 60_000 },
    });
    const verifying = (knowsIt: boolean) =>
      tokenVerifier([issuerAt('away'), issuerAt('there')], [], {
        fetchJson: (url) =>
          url.includes('away')
            ? Promise.reject(new Error('away'))
            : Promise.resolve({ active: knowsIt, sub: 'ada', aud: 'flightlog' }),
        now: () => issuer.clock.now,
      }).verify('opaque');
    await expect(verifying(true)).resolves.toMatchObject({
      identity: { principal: 'ada', issuer: 'https://there.test' },
    });
    await expect(verifying(false)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  it('is asked about last at an issuer that did not answer before, until it answers', async () => {
    const issuerAt = (name: string): RemoteIssuer => ({
      ...{ issuer: `https://${name}.test`, audience: ['flightlog'], algorithms: ['ES256'], clockSkewMs: 0 },
      introspection: { url: name, clientId: 'a', clientSecret: 'b', cacheMs: 60_000 },
    });
    let asked: string[] = [];
    const verifier = tokenVerifier([issuerAt('first'), issuerAt('second')], [], {
      fetchJson: (name, request) => {
        asked.push(name);
        if (name === 'first' && isAway) return Promise.reject(new Error('away'));
        const isKnown = (request!.body as URLSearchParams).get('token') === `of-${name}`;
        return Promise.resolve({ active: isKnown, sub: 'ada', aud: 'flightlog' });
      },
      now: () => issuer.clock.now,
    });
    const askedFor = async (token: string): Promise<readonly string[]> => {
      asked = [];
      await verifier.verify(token);
      return asked;
    };
    isAway = true;
    expect(await askedFor('of-second')).toEqual(['first', 'second']);
    expect(await askedFor('of-second')).toEqual(['second']);
    isAway = false;
    expect(await askedFor('of-first')).toEqual(['second', 'first']);
    expect(await askedFor('of-first')).toEqual(['first']);
  });
});
