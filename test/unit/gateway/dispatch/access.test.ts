import { create, toBinary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import { TaskCreateRequestSchema } from '../../../../proto/gen/platformidl/admin/task_pb.js';
import { AdminService } from '../../../../proto/gen/platformidl/service/admin_pb.js';
import { SyncAgentService } from '../../../../proto/gen/platformidl/service/agent_pb.js';
import { accessBy } from '../../../../services/auth/permissions/grants.js';
import type { Grant } from '../../../../services/auth/permissions/roles.js';
import { authenticate } from '../../../../services/gateway/dispatch/authenticate.js';
import { authorize } from '../../../../services/gateway/dispatch/authorize.js';
import { dispatcher } from '../../../../services/gateway/dispatch/dispatch.js';
import type { Authentication } from '../../../../services/kernel/ports/authentication.js';
import { RpcError } from '../../../../services/kernel/rpc.js';
import { callOf } from './calls.js';

const admin = AdminService.method;

const ada = (grants: readonly Grant[], expiresAt?: number): Authentication => ({
  callerOf: (header) => {
    if (header('authorization') === undefined) throw new RpcError('UNAUTHENTICATED', 'no-token');
    const identity = { principal: 'ada', issuer: 'i', clientId: '', scopes: [], claims: {}, expiresAt };
    return { identity, access: accessBy([], () => grants) };
  },
});

const IN_DEVELOPMENT: Grant = { role: 'contributor', projects: ['a'], domains: ['development'] };

const dispatchFor = (authentication: Authentication | undefined) =>
  dispatcher([
    authenticate(authentication),
    (call, next) =>
      call.receive().then(({ request }) => {
        call.request = request;
        return next();
      }),
    authorize(authentication),
  ]);

const headers = { authorization: 'Bearer x' };

const createTask = (project: string, domain: string) => {
  const request = create(TaskCreateRequestSchema, { id: { project, domain, name: 'n', version: 'v' } });
  return { decoded: request, bytes: toBinary(TaskCreateRequestSchema, request) };
};

const ask = (authentication: Authentication | undefined, call: ReturnType<typeof callOf>) =>
  dispatchFor(authentication)(call, ({ principal }) => Promise.resolve(`done for "${principal}"`)).catch(
    (error: unknown) => (error instanceof RpcError ? `${error.code}: ${error.message}` : 'bug'),
  );

describe('a call', () => {
  it('without authentication needs nothing, and has no principal', async () => {
    expect(await ask(undefined, callOf(admin.createTask))).toBe('done for ""');
  });

  it('without a token is refused before its request is received, unless the RPC needs none', async () => {
    const receive = () => Promise.reject(new Error('received'));
    expect(await ask(ada([]), callOf(admin.createTask, { receive }))).toBe('UNAUTHENTICATED: no-token');
    expect(await ask(ada([]), callOf(admin.getVersion))).toBe('done for ""');
  });

  it.each(['decoded', 'bytes'] as const)('needs the permission where its request is: %s', async (form) => {
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
  });

  it('whose request cannot be read needs the permission everywhere', async () => {
    const request = Uint8Array.of(0x0a, 0xff);
    const unreadable = () => callOf(admin.createTask, { headers, request });
    expect(await ask(ada([IN_DEVELOPMENT]), unreadable())).toMatch('PERMISSION_DENIED');
    const everywhere: Grant = { role: 'contributor', projects: ['*'], domains: ['*'] };
    expect(await ask(ada([everywhere]), unreadable())).toBe('done for "ada"');
  });

  it('about a whole project is read with any of its domains, and changed with all', async () => {
    const getProject = (id: string) => callOf(admin.getProject, { headers, request: { $typeName: '', id } as never });
    const update = () => callOf(admin.updateProject, { headers, request: { $typeName: '', id: 'a' } as never });
    expect(await ask(ada([IN_DEVELOPMENT]), getProject('a'))).toBe('done for "ada"');
    expect(await ask(ada([IN_DEVELOPMENT]), getProject('b'))).toMatch('PERMISSION_DENIED');
    expect(await ask(ada([IN_DEVELOPMENT]), getProject(''))).toMatch('PERMISSION_DENIED');
    expect(await ask(ada([{ ...IN_DEVELOPMENT, role: 'administrator' }]), update())).toMatch('PERMISSION_DENIED');
    expect(await ask(ada([{ role: 'administrator', projects: ['a'], domains: ['*'] }]), update())).toMatch('done');
  });
});

describe('a stream', () => {
  const method = SyncAgentService.method.executeTaskSync;
  const route = { method, takes: 'stream', open: (requests: AsyncIterable<Uint8Array>) => requests } as const;
  const grants: readonly Grant[] = [{ role: 'engine', projects: ['*'], domains: ['*'] }];
  const never = (): Promise<string> => new Promise(() => undefined);

  it('ends with UNAUTHENTICATED when the token of its caller expires', async () => {
    const call = callOf(method, { headers, route });
    await expect(dispatchFor(ada(grants, Date.now() + 1))(call, never)).rejects.toMatchObject({
      code: 'UNAUTHENTICATED',
      message: 'the token has expired',
    });
  });

  it('ends as it does before that', async () => {
    expect(await ask(ada(grants, Date.now() + 3_600_000), callOf(method, { headers, route }))).toBe('done for "ada"');
    expect(await ask(ada(grants, Infinity), callOf(method, { headers, route }))).toBe('done for "ada"');
  });
});
