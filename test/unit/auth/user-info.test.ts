import { create } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';

import {
  IdentityService,
  type UserInfoResponse,
  UserInfoRequestSchema,
} from '../../../proto/gen/platformidl/service/identity_pb.js';
import { NO_SIGN_IN, signInRoutes } from '../../../services/auth/metadata/rpc.js';
import type { Call } from '../../../services/kernel/rpc.js';

/** The answer of UserInfo for a token with these claims. */
const userInfo = async (claims: Readonly<Record<string, unknown>>): Promise<UserInfoResponse> => {
  const { handle } = signInRoutes(NO_SIGN_IN).find(({ method }) => method === IdentityService.method.userInfo)!;
  const call = { principal: 'ada', caller: { identity: { claims } } } as unknown as Call;
  return (await handle(create(UserInfoRequestSchema) as never, call)) as UserInfoResponse;
};

const INFO = { name: 'Ada', preferred_username: 'ada1', email: 'old@example.com', additional_claims: { team: 'ml' } };

it('the claim user_info describes the person, and the claims of the token win over it', async () => {
  const answer = await userInfo({ sub: 'ada', email: 'ada@example.com', groups: ['a'], user_info: INFO });
  expect(answer).toMatchObject({
    ...{ subject: 'ada', name: 'Ada', preferredUsername: 'ada1', email: 'ada@example.com' },
    additionalClaims: { team: 'ml', groups: ['a'] },
  });
});

it.each(['a text', ['a list'], null, { name: 7, additional_claims: 'x' }])(
  'a claim user_info that is malformed describes nothing: %j',
  async (info) => {
    const answer = await userInfo({ user_info: info });
    expect([answer.name, answer.additionalClaims]).toEqual(['', undefined]);
  },
);
