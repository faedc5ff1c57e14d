import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { create } from '@bufbuild/protobuf';
import { afterEach, beforeEach, expect, it } from 'vitest';

import {
  type ReactorList,
  ReactorListRequestSchema,
  ReactorService,
} from '../../../proto/gen/platformidl/eventlog/reactor_service_pb.js';
import { deadLetterAggregate } from '../../../services/dead-letter/decider.js';
import { deadLetterStream } from '../../../services/dead-letter/events.js';
import { deadLetterRoutes } from '../../../services/dead-letter/rpc.js';
import type { EventStore } from '../../../services/kernel/ports/event-store.js';
import { openSessions } from '../../../services/sessions/sessions.js';
import { sqliteEventStore } from '../../../services/store/log/sqlite-event-store.js';
import { filePayloadStore } from '../../../services/store/payloads/file-payload-store.js';

const letter = {
  ...{ position: 7n, stream: 'task-a', revision: 0n, sinceMs: 1_700_000_000_000 },
  ...{ reason: 'payload abc is missing', attempts: 8, parked: false },
};

let directory: string;
let store: EventStore;
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'flightlog-reactors-'));
  store = await sqliteEventStore({ directory });
});
afterEach(async () => {
  await store.close();
  rmSync(directory, { recursive: true });
});

it('a reactor whose dead letters cannot be read says so in the list, which has the other reactors too', async () => {
  const sessions = openSessions({ store, payloads: filePayloadStore({ directory }), now: Date.now });
  const context = { actor: '', commandId: randomUUID() };
  const command = { type: 'RecordDeadLetter', reactor: 'notify', letter } as const;
  await sessions.handle(deadLetterAggregate, deadLetterStream('notify'), command, context);
  const metadata = JSON.stringify({ recordedAtMs: 0, actor: '', commandId: '', schema: 1 });
  const unknown = { id: randomBytes(16), type: 'OfANewerRelease', data: new Uint8Array(), metadata };
  await store.append(deadLetterStream('fire-schedules'), 'any', [unknown]);

  const routes = deadLetterRoutes({
    sessions,
    reactors: {
      names: ['fire-schedules', 'notify'],
      muted: () => undefined,
      running: () => Promise.resolve([]),
      position: () => Promise.resolve(9n),
    },
  });
  const { handle } = routes.find(({ method }) => method === ReactorService.method.listReactors)!;
  const { reactors } = (await handle(create(ReactorListRequestSchema) as never, {} as never)) as ReactorList;

  expect(reactors).toMatchObject([
    { name: 'fire-schedules', position: 9n, dead: 0, deadLetters: [] },
    { name: 'notify', position: 9n, dead: 1, problem: '', deadLetters: [{ letter: { reason: letter.reason } }] },
  ]);
  expect(reactors[0]?.problem).toContain(`stream ${deadLetterStream('fire-schedules')} is parked at position 2: `);
});
