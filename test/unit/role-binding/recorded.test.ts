import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { create, type DescMethod, type MessageInitShape, type Message } from '@bufbuild/protobuf';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import {
  AccessService,
  type RoleBindingList,
  RoleBindingListRequestSchema,
  RoleGrantRequestSchema,
  RoleRevokeRequestSchema,
} from '../../../proto/gen/platformidl/eventlog/access_service_pb.js';
import type { RoleBindingSchema } from '../../../proto/gen/platformidl/eventlog/role_binding_pb.js';
import type { EventStore } from '../../../services/kernel/ports/event-store.js';
import type { Acknowledged } from '../../../services/kernel/ports/sessions.js';
import type { Call } from '../../../services/kernel/rpc.js';
import { followFolds, type LogFollower } from '../../../services/reference/live-folds.js';
import { type RoleBindings, roleBindingFold, roleBindings } from '../../../services/reference/role-bindings.js';
import { roleBindingStream } from '../../../services/role-binding/events.js';
import { roleBindingRoutes } from '../../../services/role-binding/rpc.js';
import { openSessions } from '../../../services/sessions/sessions.js';
import { sqliteEventStore } from '../../../services/store/log/sqlite-event-store.js';
import { filePayloadStore } from '../../../services/store/payloads/file-payload-store.js';
import { until } from '../../support/until.js';

type Sent = MessageInitShape<typeof RoleBindingSchema>;

let directory: string;
let store: EventStore;
const followers: LogFollower[] = [];

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'flightlog-role-bindings-'));
  store = await sqliteEventStore({ directory });
});
afterEach(async () => {
  for (const follower of followers.splice(0)) await follower.close();
  await store.close();
  rmSync(directory, { recursive: true });
});

/**
 * Opens the services of a process on the log: the RPCs of role bindings, and the bindings that the process has read.
 */
const openProcess = () => {
  const sessions = openSessions({ store, payloads: filePayloadStore({ directory }), now: Date.now, isShared: true });
  const fold = roleBindingFold();
  const following = followFolds(store, [fold]);
  followers.push(following);
  const bindings: RoleBindings = roleBindings({ fold, following, acknowledged: sessions.acknowledged });
  const routes = roleBindingRoutes({ sessions, recorded: bindings, roles: ['viewer', 'contributor'] });
  const ask = async (method: DescMethod, request: Message): Promise<Message> => {
    const call: Call = { principal: 'root', requestId: 'r', isCancelled: () => false, answeredAt: () => undefined };
    const found = routes.find((each) => each.method === method);
    return (await found?.handle(request as never, call)) as Message;
  };
  return {
    bindings,
    grant: (binding: Sent) => ask(AccessService.method.grant, create(RoleGrantRequestSchema, { binding })),
    revoke: (binding: Sent) => ask(AccessService.method.revoke, create(RoleRevokeRequestSchema, { binding })),
    list: async (asked: MessageInitShape<typeof RoleBindingListRequestSchema> = {}) =>
      (await ask(AccessService.method.list, create(RoleBindingListRequestSchema, asked))) as RoleBindingList,
  };
};

/** Waits until a reader gives `count` bindings. */
const untilThereAre = (count: number, read: () => readonly unknown[]) =>
  until(
    () => Promise.resolve(read().length),
    (found) => found === count,
  );

const viewer = { principal: 'ada', role: 'viewer', project: 'atlas', domain: 'staging' };

describe('role bindings', () => {
  it('are known to another process once it has read them, until it has read that they are revoked', async () => {
    const [here, there] = [openProcess(), openProcess()];
    const read = there.bindings.readerOf('ada');
    await there.bindings.ready();
    expect(read()).toEqual([]);
    await here.grant(viewer);
    await untilThereAre(1, read);
    expect(read()).toEqual([{ ...viewer, issuer: '' }]);
    expect(read()).toBe(read());
    await here.revoke(viewer);
    await untilThereAre(0, read);
  });

  it('cannot be asked for in a process that starts until it has read all that was recorded before', async () => {
    const { grant } = openProcess();
    await grant(viewer);
    const later = openProcess();
    const read = later.bindings.readerOf('ada');
    expect(read).toThrow(expect.objectContaining({ code: 'UNAVAILABLE' }));
    await later.bindings.ready();
    expect(read()).toHaveLength(1);
  });

  it('cannot be listed either until then, not even before the first of them is read', async () => {
    const behind = { position: () => 0n, reached: () => Promise.resolve(false), hasReached: () => false };
    const following = behind as unknown as LogFollower;
    const acknowledged = { ofPrefix: () => undefined } as unknown as Acknowledged;
    const bindings = roleBindings({ fold: roleBindingFold(), following, acknowledged });
    const call: Call = { principal: 'root', requestId: 'r', isCancelled: () => false, answeredAt: () => undefined };
    await expect(bindings.all(call)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  it('of a principal with an event that cannot be read do not count', async () => {
    const { bindings, grant } = openProcess();
    await grant(viewer);
    await bindings.ready();
    const read = bindings.readerOf('ada');
    await untilThereAre(1, read);
    const unknown = { id: new Uint8Array(16), type: 'RoleSuspended', data: new Uint8Array() };
    const metadata = { recordedAtMs: 1, actor: '', commandId: 'c', schema: 1 };
    await store.append(roleBindingStream('ada'), 0n, [{ ...unknown, metadata: JSON.stringify(metadata) }]);
    await untilThereAre(0, read);
  });

  it('are listed in the order of principals, page by page, and at once after a grant', async () => {
    const { grant, list } = openProcess();
    const names = ['bob', 'ada', 'cy'];
    for (const principal of names) await grant({ ...viewer, principal });
    const first = await list({ limit: 2 });
    const second = await list({ limit: 2, token: first.token });
    const listed = [first, second].map(({ bindings }) => bindings.map(({ principal }) => principal));
    expect(listed).toEqual([['ada', 'bob'], ['cy']]);
    expect(second.token).toBe('');
  });

  it('are listed by project, domain and principal; those with * count for every project and domain', async () => {
    const { grant, list } = openProcess();
    await grant(viewer);
    await grant({ principal: 'root', role: 'contributor', project: '*', domain: '*' });
    await grant({ ...viewer, principal: 'cy', project: 'other' });
    const principals = async (asked: Parameters<typeof list>[0]) =>
      (await list(asked)).bindings.map(({ principal }) => principal);
    expect(await principals({ project: 'atlas' })).toEqual(['ada', 'root']);
    expect(await principals({ project: 'atlas', domain: 'development' })).toEqual(['root']);
    expect(await principals({})).toEqual(['ada', 'cy', 'root']);
    expect(await principals({ principal: 'cy' })).toEqual(['cy']);
  });

  it.each([
    [{}, 'missing binding.principal'],
    [{ principal: 'ada' }, 'missing binding.role'],
    [{ ...viewer, role: 'king' }, 'invalid value for binding.role: king is none of viewer, contributor'],
    [{ ...viewer, project: 'x'.repeat(256) }, 'invalid value for binding.project: above 255 bytes'],
    [{ ...viewer, principal: 'a\nb' }, 'invalid value for binding.principal: control characters are not allowed'],
    [{ ...viewer, issuer: 'a\u202eb' }, 'invalid value for binding.issuer: control characters are not allowed'],
  ])('are refused when malformed: %j', async (binding, message) => {
    const { grant } = openProcess();
    await expect(grant(binding)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', message });
  });

  it('that do not exist cannot be revoked', async () => {
    const { revoke } = openProcess();
    await expect(revoke(viewer)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});
