import inject from 'light-my-request';
import { errors, type Provider } from 'oidc-provider';
import { describe, expect, it } from 'vitest';

import { answerPage } from '../../../../services/auth/server/interactions.js';
import { signInLimits } from '../../../../services/auth/server/sign-in-limits.js';
import type { Upstream } from '../../../../services/auth/server/upstream.js';

/** The answer of a sign-in page when reading its sign-in fails like this. */
const answerAfter = async (failure: Error) => {
  const logged: Error[] = [];
  const signIn = {
    provider: { interactionDetails: () => Promise.reject(failure) } as unknown as Provider,
    users: {
      find: () => Promise.resolve(undefined),
      check: () => Promise.resolve(undefined),
      count: () => Promise.resolve(0),
    },
    limits: signInLimits(5),
    onAttempt: () => undefined,
    upstream: undefined,
    onError: (error: Error) => logged.push(error),
  };
  const { statusCode, payload } = await inject(
    (request, response) => void answerPage(signIn, { request, response, address: '' }),
    '/oauth2/interaction/some',
  );
  return { statusCode, payload, logged };
};

it('a sign-in that is not found is answered with 400, and not logged', async () => {
  const answer = await answerAfter(new errors.SessionNotFound('interaction session not found'));
  expect(answer).toMatchObject({ statusCode: 400, logged: [] });
  expect(answer.payload).toContain('This sign-in has expired');
});

it('any other error of a sign-in page is answered with 503, and logged', async () => {
  const failure = new TypeError('a fault of this server');
  expect(await answerAfter(failure)).toMatchObject({ statusCode: 503, logged: [failure] });
});

describe('the way to the upstream provider', () => {
  const page = (begin: () => Promise<URL>) => {
    const interaction = { uid: 'some', prompt: { name: 'login' }, params: { client_id: 'flytectl' } };
    const signIn = {
      provider: {
        issuer: 'https://flightlog.example.com',
        interactionDetails: () => Promise.resolve(interaction),
      } as unknown as Provider,
      users: {
        find: () => Promise.resolve(undefined),
        check: () => Promise.resolve(undefined),
        count: () => Promise.resolve(0),
      },
      limits: signInLimits(1, () => 0),
      onAttempt: () => undefined,
      upstream: { name: 'the other one', begin } as unknown as Upstream,
      onError: () => undefined,
    };
    return () =>
      inject(
        (request, response) => void answerPage(signIn, { request, response, address: '192.0.2.1' }),
        '/oauth2/interaction/some/upstream',
      );
  };

  it('is closed for a while to an address that has taken it too often, because each time something is stored', async () => {
    const ask = page(() => Promise.resolve(new URL('https://login.example.com/')));
    for (let each = 0; each < 6; each += 1) expect((await ask()).statusCode).toBe(303);
    const { statusCode, headers, payload } = await ask();
    expect([statusCode, headers['retry-after']]).toEqual([429, '10']);
    expect(payload).toContain('Too many attempts. Try again in 10 seconds.');
  });

  it('stays open while the provider does not answer, because nothing is stored', async () => {
    const ask = page(() => Promise.reject(new Error('away')));
    for (let each = 0; each < 10; each += 1) expect((await ask()).payload).toContain('the other one does not answer');
  });
});
