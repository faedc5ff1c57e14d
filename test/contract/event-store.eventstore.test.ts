import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe } from 'vitest';
import { eventstoreEventStore } from '../../services/store/eventstore/eventstore-event-store.js';
import { type LogServer, startLogServer } from '../support/processes/log-server.js';
import { eventStoreContract } from './event-store.contract.js';

describe("over flightlog's own log server", () => {
  const directory = mkdtempSync(join(tmpdir(), 'flightlog-log-server-'));
  let server: LogServer;
  beforeAll(async () => {
    server = await startLogServer(directory);
  });
  afterAll(async () => {
    await server.stop();
    rmSync(directory, { recursive: true });
  });

  eventStoreContract('the EventStoreDB protocol', async () => {
    const open = () => eventstoreEventStore({ url: `esdb://${server.address}?tls=false` });
    return { store: await open(), reopen: open };
  });
});

const REAL_URL = process.env['FLIGHTLOG_TEST_EVENTSTORE_URL'];

describe.skipIf(REAL_URL === undefined)('a server that runs already (FLIGHTLOG_TEST_EVENTSTORE_URL)', () => {
  eventStoreContract('EventStoreDB', async () => {
    const open = () => eventstoreEventStore({ url: REAL_URL ?? '' });
    return { store: await open(), reopen: open };
  });
});
