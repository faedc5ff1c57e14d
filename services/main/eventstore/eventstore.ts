import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import type { AuditTrail } from '../../kernel/ports/audit-trail.js';
import type { Authentication, PasswordAuthentication } from '../../kernel/ports/authentication.js';
import type { TlsSource } from '../../kernel/ports/tls.js';
import type { EventStore } from '../../kernel/ports/event-store.js';
import { relayAdmissions } from './admission-relay.js';
import { relayAppends } from './append-relay.js';
import type { Configuration } from '../../config/configuration.js';
import { type AdmissionServices, admitting } from '../../streams/eventstore/admission.js';
import type { GroupFigures } from '../../streams/eventstore/groups/group-figures.js';
import type { EventstoreThreadData, EventstoreThreadRequest, EventstoreThreadStart } from './eventstore-thread.js';
import type { LogSource } from '../log/log-source.js';
import type { PayloadSource } from '../payloads.js';
import { assertPortIsFree, IN_USE, portProblem } from '../../config/free-port.js';
import { OperatorError } from '../../config/operator-errors.js';

/** The default port of the EventStoreDB protocol, which its clients use. */
export const USUAL_EVENTSTORE_PORT = 2113;

/** The EventStoreDB protocol, served on a thread of its own. */
export type ServedEventstore = {
  /** `host:port`; `undefined` where it is not served. */
  readonly address: string | undefined;
  /** The reason why the usual port is not served on, as the end of a sentence: `is in use`. */
  readonly problem?: string;
  /** Rejects when the thread has failed. */
  readonly failed: Promise<never>;
  /** Reads the figures of the consumer groups; empty for those of an event store, and when they do not come in time. */
  readonly groups: () => Promise<readonly GroupFigures[]>;
  readonly close: () => Promise<void>;
};

/** The services that the server of the EventStoreDB protocol needs. */
export type EventstoreServices = PayloadSource & {
  readonly source: LogSource;
  readonly store: EventStore;
  /** Identifies callers; absent without authentication. */
  readonly authentication: Authentication | undefined;
  /** Identifies callers by a password; absent without an authorization server in this process. */
  readonly passwords: PasswordAuthentication | undefined;
  readonly audit: AuditTrail | undefined;
  /** Absent where connections are not encrypted. */
  readonly tls: TlsSource | undefined;
  readonly logger: Logger;
};

const FIGURES_WAIT_MS = 2_000;

/** Shares one read of the figures among concurrent callers; gives an empty list when they do not come in time. */
const readOnce = (groups: ServedEventstore['groups']): ServedEventstore['groups'] => {
  let figures: Promise<readonly GroupFigures[]> | undefined;
  return () => {
    figures ??= groups()
      .catch(() => [])
      .finally(() => (figures = undefined));
    return Promise.race([figures, setTimeout(FIGURES_WAIT_MS, [], { ref: false })]);
  };
};

const never = new Promise<never>(() => undefined);

const unserved: ServedEventstore = {
  address: undefined,
  failed: never,
  groups: () => Promise.resolve([]),
  close: () => Promise.resolve(),
};

/** The port to listen on, or the reason why there is none, as the end of a sentence: `is in use`. */
export type EventstorePort = number | { readonly problem: string };

/**
 * Finds the port to listen on. When no port is configured and the usual one cannot be taken, as where several servers
 * run on one machine, returns the reason.
 *
 * @throws {OperatorError} when the configured port cannot be taken.
 */
export const eventstorePort = async ({
  host,
  eventstore_port: port,
  eventstore_mode: mode,
}: Pick<Configuration, 'host' | 'eventstore_port' | 'eventstore_mode'>): Promise<EventstorePort> => {
  if (mode === 'off') return { problem: 'is not used: eventstore_mode is off' };
  if (port !== undefined) {
    await assertPortIsFree('EventStoreDB', host, port);
    return port;
  }
  const problem = await portProblem(host, USUAL_EVENTSTORE_PORT);
  return problem ? { problem: problem.reason } : USUAL_EVENTSTORE_PORT;
};

type AdmittingParts = Omit<AdmissionServices, 'authentication'> & Pick<EventstoreServices, 'authentication' | 'logger'>;

/** Opens a message port by which the thread asks to admit its callers. Both ends close together. */
const openAdmissions = ({ authentication, logger, ...services }: AdmittingParts): MessagePort | undefined => {
  if (!authentication) return undefined;
  const { port1, port2 } = new MessageChannel();
  relayAdmissions(port1, admitting({ authentication, ...services }), (err) =>
    logger.error({ err }, 'callers of the EventStoreDB protocol cannot be authenticated'),
  );
  port1.unref();
  return port2;
};

const portUnusable = (logger: Logger, problem: string): ServedEventstore => {
  const reason = `port ${USUAL_EVENTSTORE_PORT} ${problem}`;
  logger.info(`the EventStoreDB protocol is not served: ${reason}; set eventstore_port to another port`);
  return { ...unserved, problem };
};

/**
 * Starts the thread that serves the EventStoreDB protocol, and waits until it listens.
 *
 * The protocol is not served when it is off, when the usual port cannot be used, and when another process takes that
 * port before the thread listens.
 *
 * @throws {OperatorError} when a configured port is taken, or the thread fails.
 */
export const startEventstore = async (
  configuration: Configuration,
  port: EventstorePort,
  { directory, location, source, store, logger, tls, ...admission }: EventstoreServices,
): Promise<ServedEventstore> => {
  const { host, eventstore_mode: mode, eventstore_format: format, log_level: logLevel } = configuration;
  if (mode === 'off') return unserved;
  if (typeof port === 'object') return portUnusable(logger, port.problem);
  const { port1, port2 } = new MessageChannel();
  relayAppends(port1, store);
  const admissions = openAdmissions({ ...admission, logger, isBehindProxy: configuration.auth.behind_tls });
  const served = { host, port, mode, format: format ?? 'json', tls: tls?.current, logLevel, appends: port2 };
  const worker = new Worker(new URL('./eventstore-thread.js', import.meta.url), {
    workerData: { directory, location, source, ...served, admissions } satisfies EventstoreThreadData,
    transferList: admissions ? [port2, admissions] : [port2],
  });
  const post = (request: EventstoreThreadRequest): void => worker.postMessage(request);
  tls?.onChange(post);
  const failed = new Promise<never>((_, reject) => {
    worker.once('error', (error) =>
      reject(new OperatorError(`the EventStoreDB protocol has failed: ${error.message}`, { cause: error })),
    );
  });
  failed.catch(() => undefined); // not unhandled: callers may await `failed` later
  const exited = once(worker, 'exit'); // here, because a thread that fails while the process stops exits before `close`
  exited.catch(() => undefined); // not unhandled: `failed` reports it
  const [bound] = (await Promise.race([once(worker, 'message'), failed])) as [EventstoreThreadStart];
  if (bound === 'taken') {
    port1.close();
    if (configuration.eventstore_port === undefined) return portUnusable(logger, IN_USE);
    throw new OperatorError(`EventStoreDB port ${host}:${port} ${IN_USE}`);
  }
  return {
    address: `${host.includes(':') ? `[${host}]` : host}:${bound}`,
    failed,
    groups: readOnce(async () => {
      post('groups');
      const [groups] = (await once(worker, 'message')) as [readonly GroupFigures[]];
      return groups;
    }),
    close: async () => {
      post('close');
      await exited;
      port1.close();
    },
  };
};

/** A server of the EventStoreDB protocol that is started later. Until then `groups` gives an empty list. */
export const laterEventstore = (): Pick<ServedEventstore, 'groups'> & { readonly start: typeof startEventstore } => {
  let served: ServedEventstore | undefined;
  return {
    groups: async (): Promise<readonly GroupFigures[]> => (await served?.groups()) ?? [],
    start: async (...given: Parameters<typeof startEventstore>): Promise<ServedEventstore> =>
      (served = await startEventstore(...given)),
  };
};
