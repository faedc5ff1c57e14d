import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { create, type DescMethod } from '@bufbuild/protobuf';
import { afterEach, beforeEach, expect, it } from 'vitest';

import {
  DeadLetterRequestSchema,
  type ReactorList,
  ReactorListRequestSchema,
  ReactorService,
} from '../../../proto/gen/platformidl/eventlog/reactor_service_pb.js';
import { deadLetterAggregate } from '../../../services/dead-letter/decider.js';
import { deadLetterStream } from '../../../services/dead-letter/events.js';
import { deadLetterRoutes } from '../../../services/dead-letter/rpc.js';
import type { EventStore } from '../../../services/kernel/ports/event-store.js';
import { type OpenSessions, openSessions } from '../../../services/sessions/sessions.js';
import { sqliteEventStore } from '../../../services/store/log/sqlite-event-store.js';
import { filePayloadStore } from '../../../services/store/payloads/file-payload-store.js';

const letter = {
  ...{ position: 7n, stream: 'task-a', revision: 0n, sinceMs: 1_700_000_000_000 },
  ...{ reason: 'payload abc is missing', attempts: 8, parked: false },
};

let directory: string;
let store: EventStore;
let sessions: OpenSessions;
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'flightlog-reactors-'));
  store = await sqliteEventStore({ directory });
  sessions = openSessions({ store, payloads: filePayloadStore({ directory }), now: Date.now });
});
afterEach(async () => {
  await store.close();
  rmSync(directory, { recursive: true });
});

/** Records an event that this release cannot read among the dead letters of a reactor. */
const park = async (reactor: string): Promise<void> => {
  const metadata = JSON.stringify({ recordedAtMs: 0, actor: '', commandId: '', schema: 1 });
  const unknown = { id: randomBytes(16), type: 'OfANewerRelease', data: new Uint8Array(), metadata };
  await store.append(deadLetterStream(reactor), 'any', [unknown]);
};

/** The handler of an RPC, with two reactors whose position is 9. */
const handlerOf = (wanted: DescMethod) => {
  const routes = deadLetterRoutes({
    sessions,
    reactors: {
      names: ['fire-schedules', 'notify'],
      muted: () => undefined,
      running: () => Promise.resolve([]),
      position: () => Promise.resolve(9n),
    },
  });
  return routes.find(({ method }) => method === wanted)!.handle;
};

it('a reactor whose dead letters cannot be read says so in the list, which has the other reactors too', async () => {
  const context = { actor: '', commandId: randomUUID() };
  const command = { type: 'RecordDeadLetter', reactor: 'notify', letter } as const;
  await sessions.handle(deadLetterAggregate, deadLetterStream('notify'), command, context);
  await park('fire-schedules');

  const handle = handlerOf(ReactorService.method.listReactors);
  const { reactors } = (await handle(create(ReactorListRequestSchema) as never, {} as never)) as ReactorList;

  expect(reactors).toMatchObject([
    { name: 'fire-schedules', position: 9n, dead: 0, deadLetters: [] },
    { name: 'notify', position: 9n, dead: 1, problem: '', deadLetters: [{ letter: { reason: letter.reason } }] },
  ]);
  expect(reactors[0]?.problem).toContain(`stream ${deadLetterStream('fire-schedules')} is parked at position 2: `);
});

it.each([ReactorService.method.retryDeadLetter, ReactorService.method.skipDeadLetter])(
  '$name of a dead letter that cannot be read says what to do',
  async (method) => {
    await park('notify');
    const call = { principal: 'root', requestId: 'r', isCancelled: () => false, answeredAt: () => undefined };
    const request = create(DeadLetterRequestSchema, { reactor: 'notify', position: 7n });
    const stream = deadLetterStream('notify');
    await expect(Promise.resolve(handlerOf(method)(request as never, call as never))).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringMatching(
        `^the dead letters of reactor notify cannot be read: stream ${stream} is parked at position 1: .*` +
          `upgrade this server; otherwise remove the cause, then run .flightlog parked-stream retry ${stream}.$`,
      ) as string,
    });
  },
);
