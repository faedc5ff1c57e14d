import { describe, expect, it } from 'vitest';

import { type Access, UNLIMITED } from '../../../services/kernel/access.js';
import type { AuditEntry } from '../../../services/kernel/ports/audit-trail.js';
import type { Caller, Credentials } from '../../../services/kernel/ports/authentication.js';
import { RpcError } from '../../../services/kernel/rpc.js';
import { type AdmissionServices, admitting } from '../../../services/streams/eventstore/admission.js';
import type { AdmissionRequest } from '../../../services/streams/eventstore/guard.js';

const identity = { principal: 'ada', issuer: 'us', clientId: '', scopes: [], claims: {}, expiresAt: 7 };
const admitted = { principal: 'ada', issuer: 'us', clientId: '', expiresAt: 7 };

const call: AdmissionRequest = {
  authorization: 'Bearer good',
  permission: 'read',
  path: '/event_store.client.streams.Streams/Read',
  peer: '10.0.0.1',
  forwardedFor: undefined,
  certificate: undefined,
};

/** The header of basic authentication. */
const basic = (name: string, password: string): string =>
  `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;

/**
 * Admissions by the token `good`, and by any name and password; `asked` are the names and passwords. The issuer of the
 * token `later` cannot be asked.
 */
const opened = (changes: Partial<AdmissionServices> = {}, access: Access = UNLIMITED) => {
  const entries: AuditEntry[] = [];
  const asked: Credentials[] = [];
  const caller: Caller = { identity, access };
  const admissions = admitting({
    authentication: {
      callerOf: (header) => {
        if (header('authorization') === 'Bearer good') return caller;
        throw new RpcError(header('authorization') === 'Bearer later' ? 'UNAVAILABLE' : 'UNAUTHENTICATED', 'no');
      },
    },
    passwords: {
      callerOf: (credentials) => {
        asked.push(credentials);
        return Promise.resolve(caller);
      },
    },
    isBehindProxy: false,
    audit: { record: (entry: AuditEntry) => entries.push(entry) } as unknown as AdmissionServices['audit'],
    ...changes,
  });
  return { admissions, entries, asked };
};

describe('the admission of a caller', () => {
  it('takes a bearer token, and a token as the password of the user `token`', async () => {
    const { admissions, asked } = opened();
    expect(await admissions.admit(call)).toEqual(admitted);
    expect(await admissions.admit({ ...call, authorization: basic('token', 'good') })).toEqual(admitted);
    expect(asked).toEqual([]);
  });

  it('takes a name and a password, which may have colons, and the address of the client', async () => {
    const { admissions, asked } = opened();
    expect(await admissions.admit({ ...call, authorization: basic('ada', 'a:b:c') })).toEqual(admitted);
    expect(asked).toEqual([{ name: 'ada', password: 'a:b:c', address: '10.0.0.1' }]);
  });

  it('takes a password for a token where the server has no passwords', async () => {
    const { admissions } = opened({ passwords: undefined });
    expect(await admissions.admit({ ...call, authorization: basic('ada', 'good') })).toEqual(admitted);
  });

  it('knows the client behind a proxy by the last address that was forwarded, or not at all', async () => {
    const { admissions, asked } = opened({ isBehindProxy: true });
    const authorization = basic('ada', 'secret');
    await admissions.admit({ ...call, authorization, forwardedFor: '1.1.1.1, 2.2.2.2' });
    await admissions.admit({ ...call, authorization });
    expect(asked.map(({ address }) => address)).toEqual(['2.2.2.2', undefined]);
  });
});

describe('the audit', () => {
  it('has each refusal with its reason, but not that the issuer of a token could not be asked', async () => {
    const { admissions, entries } = opened();
    await expect(admissions.admit({ ...call, authorization: 'Bearer bad' })).rejects.toThrow('no');
    await expect(admissions.admit({ ...call, authorization: 'Bearer later' })).rejects.toThrow('no');
    expect(entries).toMatchObject([
      { code: 'UNAUTHENTICATED', reason: 'no', principal: '', action: call.path, address: '10.0.0.1' },
    ]);
  });

  it('has the caller that lacks the permission', async () => {
    const { admissions, entries } = opened({}, { ...UNLIMITED, may: () => false });
    await expect(admissions.admit(call)).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    expect(entries).toMatchObject([{ code: 'PERMISSION_DENIED', principal: 'ada' }]);
  });

  it('has the end of each call that needs the permission `admin`, and of no other', () => {
    const { admissions, entries } = opened();
    admissions.ended(call, admitted, 'OK');
    admissions.ended({ ...call, permission: 'admin' }, admitted, 'OK');
    expect(entries).toMatchObject([{ code: 'OK', reason: '', principal: 'ada', transport: 'eventstoredb' }]);
  });
});
