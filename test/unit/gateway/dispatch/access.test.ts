import { create, toBinary } from '@bufbuild/protobuf';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { LaunchPlanCreateRequestSchema } from '../../../../proto/gen/platformidl/admin/launch_plan_pb.js';
import { TaskCreateRequestSchema } from '../../../../proto/gen/platformidl/admin/task_pb.js';
import { EventLogService, TailRequestSchema } from '../../../../proto/gen/platformidl/eventlog/tail_pb.js';
import { AdminService } from '../../../../proto/gen/platformidl/service/admin_pb.js';
import { SyncAgentService } from '../../../../proto/gen/platformidl/service/agent_pb.js';
import { accessBy } from '../../../../services/auth/permissions/grants.js';
import type { Grant } from '../../../../services/auth/permissions/roles.js';
import { authenticate } from '../../../../services/gateway/dispatch/authenticate.js';
import { authorize } from '../../../../services/gateway/dispatch/authorize.js';
import { receive } from '../../../../services/gateway/dispatch/receive.js';
import { dispatcher } from '../../../../services/gateway/dispatch/dispatch.js';
import { StoreUnavailable } from '../../../../services/kernel/fault.js';
import type { Authentication } from '../../../../services/kernel/ports/authentication.js';
import { RpcError } from '../../../../services/kernel/rpc.js';
import { callOf } from './calls.js';

const admin = AdminService.method;

/** Authenticates every token as `ada`, with these roles until `expiresAt`, in milliseconds since 1970. */
const ada = (grants: readonly Grant[], expiresAt?: number): Authentication => ({
  callerOf: (header) => {
    if (header('authorization') === undefined) throw new RpcError('UNAUTHENTICATED', 'no-token');
    const identity = { principal: 'ada', issuer: 'i', clientId: '', scopes: [], claims: {}, expiresAt };
    return { identity, access: accessBy([], () => grants) };
  },
});

const IN_DEVELOPMENT: Grant = { role: 'contributor', projects: ['a'], domains: ['development'] };

const dispatchFor = (authentication: Authentication | undefined) =>
  dispatcher([authenticate(authentication), receive, authorize(authentication)]);

const headers = { authorization: 'Bearer x' };

const createTask = (project: string, domain: string) => {
  const request = create(TaskCreateRequestSchema, { id: { project, domain, name: 'n', version: 'v' } });
  return { decoded: request, bytes: toBinary(TaskCreateRequestSchema, request) };
};

/** The answer to a call, or the code and the text of its refusal. */
const ask = (authentication: Authentication | undefined, call: ReturnType<typeof callOf>) =>
  dispatchFor(authentication)(call, ({ principal }) => Promise.resolve(`done for "${principal}"`)).catch(
    (error: unknown) => (error instanceof RpcError ? `${error.code}: ${error.message}` : 'bug'),
  );

describe('a call', () => {
  it('to a server without authentication needs no permission, and has no principal', async () => {
    expect(await ask(undefined, callOf(admin.createTask))).toBe('done for ""');
  });

  it('without a token is refused before its request is received, unless the RPC needs none', async () => {
    const receive = () => Promise.reject(new Error('received'));
    expect(await ask(ada([]), callOf(admin.createTask, { receive }))).toBe('UNAUTHENTICATED: no-token');
    expect(await ask(ada([]), callOf(admin.getVersion))).toBe('done for ""');
  });

  it.each(['decoded', 'bytes'] as const)(
    'needs the permission in the project and domain of its request, which may be %s',
    async (form) => {
      const asked = (project: string, domain: string, grants: readonly Grant[]) =>
        ask(ada(grants), callOf(admin.createTask, { headers, request: createTask(project, domain)[form] }));
      expect(await asked('a', 'development', [IN_DEVELOPMENT])).toBe('done for "ada"');
      expect(await asked('a', 'production', [IN_DEVELOPMENT])).toBe(
        'PERMISSION_DENIED: missing permission register in project a, domain production',
      );
      expect(await asked('b', 'development', [IN_DEVELOPMENT])).toMatch('PERMISSION_DENIED');
      expect(await asked('a', 'development', [{ ...IN_DEVELOPMENT, role: 'viewer' }])).toMatch('PERMISSION_DENIED');
      expect(await asked('a', 'development', [])).toMatch('PERMISSION_DENIED');
      expect(await asked('', '', [IN_DEVELOPMENT])).toBe(
        'PERMISSION_DENIED: missing permission register in project *, domain *',
      );
    },
  );

  it('whose request cannot be decoded needs the permission everywhere', async () => {
    const request = Uint8Array.of(0x0a, 0xff); // a field 1 whose length ends early
    const unreadable = () => callOf(admin.createTask, { headers, request });
    expect(await ask(ada([IN_DEVELOPMENT]), unreadable())).toMatch('PERMISSION_DENIED');
    const everywhere: Grant = { role: 'contributor', projects: ['*'], domains: ['*'] };
    expect(await ask(ada([everywhere]), unreadable())).toBe('done for "ada"');
  });

  it('whose reference to a resource cannot be decoded needs the permission to read everywhere', async () => {
    const id = { project: 'a', domain: 'development', name: 'n', version: 'v' };
    const named = toBinary(LaunchPlanCreateRequestSchema, create(LaunchPlanCreateRequestSchema, { id }));
    const request = Buffer.concat([named, Uint8Array.of(0x12, 0x02, 0x0a, 0xff)]); // a spec with a broken workflow_id
    expect(await ask(ada([IN_DEVELOPMENT]), callOf(admin.createLaunchPlan, { headers, request: named }))).toBe(
      'done for "ada"',
    );
    expect(await ask(ada([IN_DEVELOPMENT]), callOf(admin.createLaunchPlan, { headers, request }))).toBe(
      'PERMISSION_DENIED: missing permission read in project *, domain *',
    );
  });

  it('about a whole project needs a role in any of its domains to read, and in all of them to change', async () => {
    const getProject = (id: string) => callOf(admin.getProject, { headers, request: { $typeName: '', id } as never });
    const update = () => callOf(admin.updateProject, { headers, request: { $typeName: '', id: 'a' } as never });
    expect(await ask(ada([IN_DEVELOPMENT]), getProject('a'))).toBe('done for "ada"');
    expect(await ask(ada([IN_DEVELOPMENT]), getProject('b'))).toBe(
      'PERMISSION_DENIED: missing permission read in at least one domain of project b',
    );
    expect(await ask(ada([IN_DEVELOPMENT]), getProject(''))).toMatch('PERMISSION_DENIED');
    expect(await ask(ada([{ ...IN_DEVELOPMENT, role: 'administrator' }]), update())).toMatch('PERMISSION_DENIED');
    expect(await ask(ada([{ role: 'administrator', projects: ['a'], domains: ['*'] }]), update())).toMatch('done');
  });
});

// The permission of an open stream is checked again each second.
describe('a stream', () => {
  const method = SyncAgentService.method.executeTaskSync;
  const route = { method, takes: 'stream', open: (requests: AsyncIterable<Uint8Array>) => requests } as const;
  const grants: readonly Grant[] = [{ role: 'engine', projects: ['*'], domains: ['*'] }];
  const never = (): Promise<string> => new Promise(() => undefined);

  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  /** Opens a stream; `code` is set when it ends with an error. */
  const opened = (authentication: Authentication, call = callOf(method, { headers, route })) => {
    const ended: { code?: string } = {};
    dispatchFor(authentication)(call, never).catch((error: unknown) => (ended.code = (error as RpcError).code));
    return ended;
  };

  it.each([1_000, 60 * 24 * 3_600_000])('ends with UNAUTHENTICATED when its token expires, after %d ms', async (ms) => {
    const ended = opened(ada(grants, Date.now() + ms));
    vi.setSystemTime(Date.now() + ms - 1_000);
    await vi.advanceTimersByTimeAsync(0);
    expect(ended).toEqual({});
    await vi.advanceTimersByTimeAsync(2_000);
    expect(ended).toEqual({ code: 'UNAUTHENTICATED' });
  });

  it('ends with PERMISSION_DENIED when the role of its caller is revoked', async () => {
    const granted: Grant[] = [IN_DEVELOPMENT];
    const tail = EventLogService.method.tail;
    const request = toBinary(TailRequestSchema, create(TailRequestSchema, { project: 'a', domain: 'development' }));
    const open = { method: tail, takes: 'stream', open: (requests: AsyncIterable<Uint8Array>) => requests } as const;
    const ended = opened(ada(granted), callOf(tail, { headers, request, route: open }));
    await vi.advanceTimersByTimeAsync(5_000);
    expect(ended).toEqual({});
    granted.pop();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(ended).toEqual({ code: 'PERMISSION_DENIED' });
  });

  it.each([
    ['the issuer of its token', new RpcError('UNAVAILABLE', 'the issuer is away')],
    ['the store of the keys', new StoreUnavailable('the disk is full')],
  ])('stays open while %s cannot be asked', async (_, error) => {
    const authentication = { ...ada(grants) };
    const ended = opened({ callerOf: (header) => authentication.callerOf(header) });
    await vi.advanceTimersByTimeAsync(0);
    authentication.callerOf = () => Promise.reject(error);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(ended).toEqual({});
    authentication.callerOf = () => Promise.reject(new RpcError('UNAUTHENTICATED', 'withdrawn'));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(ended).toEqual({ code: 'UNAUTHENTICATED' });
  });

  it.each([
    ['its token expires', 'UNAUTHENTICATED', { expires: true }],
    ['its caller loses the role', 'PERMISSION_DENIED', { expires: false }],
  ])('ends while the issuer of its token cannot be asked, when %s', async (_, code, { expires }) => {
    const granted = [...grants];
    const authentication = { ...ada(granted, expires ? Date.now() + 3_000 : undefined) };
    const ended = opened({ callerOf: (header) => authentication.callerOf(header) });
    authentication.callerOf = () => Promise.reject(new RpcError('UNAVAILABLE', 'the issuer is away'));
    await vi.advanceTimersByTimeAsync(2_000);
    expect(ended).toEqual({});
    if (!expires) granted.pop();
    await vi.advanceTimersByTimeAsync(2_000);
    expect(ended).toEqual({ code });
  });

  it('stays open past the expiry that it was opened with when its issuer has extended the token', async () => {
    const first = ada(grants, Date.now() + 2_000);
    const authentication = { ...first };
    const ended = opened({ callerOf: (header) => authentication.callerOf(header) });
    Object.assign(authentication, ada(grants, Date.now() + 4_000));
    await vi.advanceTimersByTimeAsync(3_000);
    expect(ended).toEqual({});
    authentication.callerOf = () => Promise.reject(new RpcError('UNAVAILABLE', 'the issuer is away'));
    await vi.advanceTimersByTimeAsync(2_000);
    expect(ended).toEqual({ code: 'UNAUTHENTICATED' });
  });

  it('that ends before its token expires has its own result', async () => {
    expect(await ask(ada(grants, Date.now() + 3_600_000), callOf(method, { headers, route }))).toBe('done for "ada"');
    expect(await ask(ada(grants, Infinity), callOf(method, { headers, route }))).toBe('done for "ada"');
  });
});
