import { randomBytes } from 'node:crypto';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { serveEncoded } from '../../gateway/grpc/encoded.js';
import { guestAccess, readAccess } from '../../streams/eventstore/access.js';
import { storedForm, type EventDataEncoder } from '../../streams/eventstore/recorded.js';
import type { Tls, TlsSource } from '../../kernel/ports/tls.js';
import { categoryOf } from '../../kernel/stream.js';
import { serveEventstore } from '../../streams/eventstore/server.js';
import { isOfGroup } from '../../streams/eventstore/groups/group-name.js';
import { noStreamRules, openStreamRules } from '../../streams/eventstore/stream-rules.js';
import { relayedAdmissions } from './admission-relay.js';
import { relayedAppends } from './append-relay.js';
import { openLogger } from '../logger.js';
import { type LogSource, openGroupCalls, openLog } from '../log/log-source.js';
import { codecs } from '../models.js';
import { namedLog } from './named-log.js';
import { openPayloads, type PayloadSource } from '../payloads.js';
import { readable } from '../../event-json/readable.js';
import type { Configuration } from '../../config/configuration.js';

/** The worker data of the thread that serves the EventStoreDB protocol. */
export type EventstoreThreadData = PayloadSource & {
  readonly source: LogSource;
  readonly host: string;
  readonly port: number;
  readonly mode: 'read' | 'write';
  readonly format: 'json' | 'stored';
  readonly tls: Tls | undefined;
  readonly logLevel: Configuration['log_level'];
  /** Carries appends to the thread that has the store. */
  readonly appends: MessagePort;
  /** Asks the thread that authenticates; absent without authentication. */
  readonly admissions: MessagePort | undefined;
};

/** The port that the thread listens on; `taken` where another process has it. */
export type EventstoreThreadStart = number | 'taken';

/** Asks the thread to end, to answer with the figures of the consumer groups, or to use these certificates. */
export type EventstoreThreadRequest = 'close' | 'groups' | Tls;

const DRAIN_MS = 2_000;

const given = workerData as EventstoreThreadData;
const { directory, location, source, host, port } = given;
const log = namedLog(await openLog(source));
const payloads = await openPayloads({ directory, location });

const json = readable(payloads);

/** Presents flightlog's events as JSON; events that clients of the protocol have written stay as they are. */
const asJson: EventDataEncoder = async (event) => {
  if (!codecs.has(categoryOf(event.stream))) return storedForm(event);
  return { data: await json(event), isJson: true };
};

/** Makes buffers again: a `Buffer` arrives from another thread as a `Uint8Array`. */
const asBuffers = ({ cert, key, clientCa }: Tls): Tls => ({
  cert: Buffer.from(cert),
  key: Buffer.from(key),
  ...(clientCa && { clientCa: Buffer.from(clientCa) }),
});

/** The certificates that the main thread sends. */
const relayedTls = (current: Tls): TlsSource => ({
  current: asBuffers(current),
  onChange: (listener) =>
    parentPort?.on('message', (message: EventstoreThreadRequest) => {
      if (typeof message === 'object') listener(asBuffers(message));
    }),
});

/**
 * In an embedded log only the streams of consumer groups have rules, because clients cannot write the metadata of
 * streams. An event store applies its rules itself.
 */
const rules = source.kind === 'embedded' ? await openStreamRules(log, { isRuled: isOfGroup }) : noStreamRules;

const groupCalls = source.kind === 'eventstore' ? await openGroupCalls(source.url) : undefined;

const start = (): ReturnType<typeof serveEventstore> =>
  serveEventstore({
    host,
    port,
    reading: { log, rules, present: given.format === 'json' ? asJson : storedForm, now: Date.now },
    writing: {
      store: { ...log, append: relayedAppends(given.appends) },
      access: given.mode === 'write' ? guestAccess(new Set(codecs.keys())) : readAccess,
      rules,
      now: Date.now,
      newId: () => randomBytes(16),
    },
    groupCalls,
    admissions: given.admissions && relayedAdmissions(given.admissions),
    tls: given.tls && relayedTls(given.tls),
    serve: serveEncoded,
    logger: openLogger(given.logLevel),
  });

const isTaken = (error: unknown): boolean =>
  error instanceof Error && error.cause instanceof Error && 'code' in error.cause && error.cause.code === 'EADDRINUSE';

const server = await start().catch((error: unknown) => {
  if (!isTaken(error)) throw error;
  parentPort?.postMessage('taken' satisfies EventstoreThreadStart);
  return process.exit(0);
});
parentPort?.postMessage(server.port satisfies EventstoreThreadStart);

const close = async (): Promise<void> => {
  await server.close({ drainMs: DRAIN_MS });
  await groupCalls?.close();
  await log.close();
  await payloads.close();
  process.exit(0);
};

parentPort?.on('message', (message: EventstoreThreadRequest) => {
  if (message === 'close') void close();
  if (message === 'groups')
    void server
      .groups()
      .catch(() => [])
      .then((groups) => parentPort?.postMessage(groups));
});
