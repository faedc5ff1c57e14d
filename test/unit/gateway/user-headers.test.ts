import { create, type JsonObject } from '@bufbuild/protobuf';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { IdentityService, UserInfoResponseSchema } from '../../../proto/gen/platformidl/service/identity_pb.js';
import { route } from '../../../services/kernel/rpc.js';
import { overHttp } from './toy.js';

/** The answer of UserInfo, which each test changes. */
const user = { subject: '', additionalClaims: {} as JsonObject };

let toy: Awaited<ReturnType<typeof overHttp>>;
beforeAll(async () => {
  toy = await overHttp([
    route(IdentityService.method.userInfo, () => Promise.resolve(create(UserInfoResponseSchema, user))),
  ]);
});
afterAll(() => toy.close());
beforeEach(() => {
  Object.assign(user, { subject: '', additionalClaims: {} });
});

const userHeadersOf = async (): Promise<Readonly<Record<string, string>>> => {
  const response = await toy.get('/me');
  expect(response.status).toBe(200);
  await response.text();
  return Object.fromEntries([...response.headers].filter(([name]) => name.startsWith('x-user-')));
};

describe('the answer of UserInfo over REST', () => {
  it('has headers with the subject, and with each additional claim as JSON', async () => {
    user.subject = 'ada';
    user.additionalClaims = { roles: ['viewer'], tenant_id: 'a"b', level: 3, on: true };
    expect(await userHeadersOf()).toEqual({
      'x-user-subject': 'ada',
      'x-user-claim-roles': '["viewer"]',
      'x-user-claim-tenant-id': '"a\\"b"',
      'x-user-claim-level': '3',
      'x-user-claim-on': 'true',
    });
  });

  it('has no header about the user without authentication', async () => {
    expect(await userHeadersOf()).toEqual({});
  });

  it('has other characters than ASCII in UTF-8', async () => {
    user.subject = 'Zoë';
    expect(Buffer.from((await userHeadersOf())['x-user-subject'] ?? '', 'latin1').toString()).toBe('Zoë');
  });

  it('leaves out the subject and the claims that cannot be a header, or are too long for one', async () => {
    user.subject = 'ada\r\nset-cookie: a=b';
    user.additionalClaims = { 'a b': 1, 'a\r\nb': 1, '': 1, long: 'x'.repeat(5_000), short: 1 };
    expect(await userHeadersOf()).toEqual({ 'x-user-claim-': '1', 'x-user-claim-short': '1' });
  });

  it('has no more headers than clients accept, however many claims there are', async () => {
    user.subject = 'ada';
    const many = Array.from({ length: 20 }, (_, at) => [`groups${at}`, 'x'.repeat(1_500)] as const);
    user.additionalClaims = { ...Object.fromEntries(many), short: 1 };
    const headers = await userHeadersOf();
    expect(Object.keys(headers)).toEqual([
      ...['x-user-claim-groups0', 'x-user-claim-groups1', 'x-user-claim-short', 'x-user-subject'],
    ]);
  });
});
