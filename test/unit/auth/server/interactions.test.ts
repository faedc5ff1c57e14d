import inject from 'light-my-request';
import { errors, type Provider } from 'oidc-provider';
import { expect, it } from 'vitest';

import { answerPage } from '../../../../services/auth/server/interactions.js';
import { signInLimits } from '../../../../services/auth/server/sign-in-limits.js';

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
