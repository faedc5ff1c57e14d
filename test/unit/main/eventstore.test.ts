import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';

import { configure } from '../../../services/config/configuration.js';
import { OperatorError } from '../../../services/config/operator-errors.js';
import type { EventStore } from '../../../services/kernel/ports/event-store.js';
import {
  eventstorePort,
  type ServedEventstore,
  startEventstore,
} from '../../../services/main/eventstore/eventstore.js';
import { openEmptyLog } from '../../support/streams/filled-log.js';

let directory: string;
let store: EventStore;
let other: Server;
let port: number;

beforeAll(async () => {
  ({ directory, store } = await openEmptyLog());
  other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  ({ port } = other.address() as AddressInfo);
});

afterAll(async () => {
  other.close();
  await store.close();
  rmSync(directory, { recursive: true });
});

/** Serves on the port that another process took after it was found free. */
const serve = (configured: Readonly<Record<string, number>>): Promise<ServedEventstore> =>
  startEventstore(
    configure(Object.entries(configured).map(([key, value]) => ({ path: [key], value, origin: key }))),
    port,
    {
      ...{ directory, location: { kind: 'file' }, source: { kind: 'embedded', directory }, store },
      ...{ authentication: undefined, passwords: undefined, audit: undefined, tls: undefined },
      logger: pino({ level: 'silent' }),
    },
  );

it('the EventStoreDB protocol is not served when its default port was found free and another process then takes it', async () => {
  expect(await serve({})).toMatchObject({ address: undefined, problem: 'is in use' });
});

it('the reason why the usual port of the EventStoreDB protocol cannot be used follows the error of listening', async () => {
  const at = { eventstore_port: undefined, eventstore_mode: 'read' } as const;
  expect(await eventstorePort({ ...at, host: '192.0.2.1' })).toEqual({
    problem: 'is on an address that no interface of this machine has',
  });
});

it('the EventStoreDB protocol fails on a configured port that was found free and that another process then takes', async () => {
  await expect(serve({ eventstore_port: port })).rejects.toThrow(
    new OperatorError(`EventStoreDB port 127.0.0.1:${port} is in use`),
  );
});
