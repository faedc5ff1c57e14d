import { createServer } from 'node:http';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { RecordedEvent } from '../../../services/kernel/event.js';
import type { EventLog } from '../../../services/kernel/ports/event-store.js';
import { type ServerProcess, startServerProcess } from './server-process.js';
import { openTestLog } from './test-log.js';
import { type TestIssuer, testIssuer } from '../servers/token-issuer.js';

/** A server with authentication on, and the issuer of its tokens. */
export type AuthenticatedServer = ServerProcess & {
  readonly issuer: TestIssuer;
  /** Makes the headers of a call by a subject, with a token that has these further claims. */
  readonly as: (subject: string, claims?: Readonly<Record<string, unknown>>) => Promise<Record<string, string>>;
  /** The position of the last event of the log. */
  readonly head: () => Promise<bigint>;
  /** The events after a position. */
  readonly eventsAfter: (position: bigint) => Promise<readonly RecordedEvent[]>;
  readonly close: () => Promise<void>;
};

/** A grant in the configuration. */
export type ConfiguredGrant = {
  readonly claim: string;
  readonly value: string;
  readonly role: string;
  readonly projects?: readonly string[];
  readonly domains?: readonly string[];
};

/** Serves the keys of an issuer over HTTP. */
const serveKeys = async (issuer: TestIssuer): Promise<{ readonly url: string; readonly close: () => unknown }> => {
  const server = createServer((_request, answer) => {
    void issuer.jwks().then((keys) => answer.end(JSON.stringify(keys)));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/keys`, close: () => server.close() };
};

/**
 * Starts a server with these grants, and an issuer whose clock is set to the time of this start; its tokens are valid
 * for five minutes from then.
 */
export const startAuthenticatedServer = async (
  grants: readonly ConfiguredGrant[],
  env: Readonly<Record<string, string>> = {},
): Promise<AuthenticatedServer> => {
  const issuer = testIssuer();
  issuer.clock.now = Date.now();
  const keys = await serveKeys(issuer);
  const data = mkdtempSync(join(tmpdir(), 'flightlog-e2e-'));
  const trusted = { issuer: issuer.issuer, audience: issuer.audience, jwks_url: keys.url };
  const server = await startServerProcess({
    data,
    env: {
      FLIGHTLOG_AUTH_ISSUERS: JSON.stringify([trusted]),
      FLIGHTLOG_AUTH_GRANTS: JSON.stringify(grants),
      ...env,
    },
  });
  const reading = async <Result>(read: (log: EventLog) => Promise<Result>): Promise<Result> => {
    const log = await openTestLog(data);
    try {
      return await read(log);
    } finally {
      await log.close();
    }
  };
  return {
    ...server,
    issuer,
    as: async (subject, claims) => ({ authorization: `Bearer ${await issuer.token({ sub: subject, ...claims })}` }),
    head: () => reading((log) => log.head()),
    eventsAfter: (after) =>
      reading(async (log) => {
        const all: RecordedEvent[] = [];
        for await (const { events } of log.readLog({ after })) all.push(...events);
        return all;
      }),
    close: async () => {
      keys.close();
      await server.stop();
      rmSync(data, { recursive: true });
    },
  };
};
