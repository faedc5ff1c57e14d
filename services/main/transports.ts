import type { DescMethod } from '@bufbuild/protobuf';
import type { Logger } from 'pino';
import { signInRoutes } from '../auth/metadata/rpc.js';
import type { AuthorizationServer } from '../auth/server/authorization-server.js';
import { answerBudget, requestBudget, type MemoryBudgetLimits } from '../gateway/memory-budget.js';
import { dispatcher, type Interceptor } from '../gateway/dispatch/dispatch.js';
import { itemAnswers } from '../gateway/items.js';
import { interceptorsOf } from '../gateway/dispatch/interceptors.js';
import { metrics } from '../gateway/dispatch/metrics.js';
import { requestLog } from '../gateway/dispatch/request-log.js';
import type { CommandAdmission, Follower } from '../gateway/dispatch/min-position.js';
import type { JsonRequest, PathOwner } from '../gateway/exchange.js';
import { serveGrpc } from '../gateway/grpc/server.js';
import { positionTokens } from '../gateway/position-token.js';
import { serveHttp } from '../gateway/rest/server.js';
import type { Check } from '../gateway/readiness.js';
import { routeTable, rpcName } from '../gateway/routes.js';
import type { AuditTrail } from '../kernel/ports/audit-trail.js';
import type { Authentication, PasswordAuthentication } from '../kernel/ports/authentication.js';
import type { TlsSource } from '../kernel/ports/tls.js';
import type { AnyRoute } from '../kernel/rpc.js';
import type { RoleBindings } from '../reference/role-bindings.js';
import type { ProcessMetrics } from '../metrics/process-metrics.js';
import { openTracing, type Tracing } from '../tracing/otlp.js';
import type { Configuration } from '../config/configuration.js';
import { issuerRedirect, openAuthentication, openPasswords, signInMetadata } from './access/authentication.js';
import { openAuthorizationServer } from './access/authorization-server.js';
import { openBrowserSessions } from './access/browser-sessions.js';
import { largeWork } from './large-requests/large-work.js';
import { openTls, type TlsFiles } from '../config/tls-files.js';
import { version } from './version.js';
import type { Uploads } from './uploads.js';

const DRAIN_MS = 10_000;
const MEMORY_WAIT_MS = 30_000;
const STALL_TIMEOUT_MS = 30_000;

/** Both transports, listening. */
export type Transports = {
  /** `host:port`. */
  readonly grpc: string;
  /** A URL. */
  readonly http: string;
  /** Absent where connections are not encrypted. */
  readonly tls: TlsSource | undefined;
  /** Identifies callers; absent without authentication. */
  readonly authentication: Authentication | undefined;
  /** Identifies callers by passwords; absent without an authorization server in this process. */
  readonly passwords: PasswordAuthentication | undefined;
  /** Refuses new calls, and finishes those in flight; after 10 s it cuts them off. */
  readonly close: () => Promise<void>;
};

const limitsOf = (totalBytes: number): MemoryBudgetLimits => ({
  totalBytes,
  perConnectionBytes: totalBytes / 2,
  waitMs: MEMORY_WAIT_MS,
  stallTimeoutMs: STALL_TIMEOUT_MS,
});

const SHUTTING_DOWN: Check = { name: 'process', state: 'down', why: 'shutting down: no new calls are accepted' };

/** The services that the transports need of the process. */
export type ProcessServices = {
  readonly logId: string;
  readonly logger: Logger;
  /** Absent in a process that does not serve the API. */
  readonly uploads?: Uploads;
  /** The log readers that must reach a command's minimum position before it is decided; absent without commands. */
  readonly followers?: readonly Follower[];
  /** Refuses commands of an overloaded process before they wait for these; absent without commands. */
  readonly admission?: CommandAdmission;
  readonly metrics: ProcessMetrics;
  /** Absent in a process that does not serve the API. */
  readonly bindings?: RoleBindings;
  readonly audit?: AuditTrail | undefined;
  /** The certificates, where the process has opened them for another port too. */
  readonly tls?: TlsFiles | undefined;
  /** Health of the components. */
  readonly checks: () => readonly Check[];
};

/** The services of the process, and what only the transports have. */
type TransportServices = ProcessServices & {
  readonly routes: readonly AnyRoute[];
  /** Issues tokens; absent where they are issued elsewhere, or not at all. */
  readonly authorization?: AuthorizationServer | undefined;
  readonly tracing?: Tracing | undefined;
};

/** Opens the threads that read and hash large requests. */
const openThreads = () => ({
  bodies: largeWork<Omit<JsonRequest, 'body'>, Uint8Array>({
    thread: new URL('./large-requests/json-thread.js', import.meta.url),
    tooMany: 'too many large bodies wait to be read; nothing was recorded',
  }),
  contents: largeWork<{ readonly rpc: string }, string>({
    thread: new URL('./large-requests/content-thread.js', import.meta.url),
    tooMany: 'too many large requests with an idempotency key wait to be hashed; nothing was recorded',
  }),
});

/** The library for spans is loaded only when there are spans. */
const spansOf = async ({ tracer }: Tracing): Promise<Interceptor> => {
  const { spans } = await import('../gateway/dispatch/spans.js');
  return spans(tracer);
};

const observersOf = async ({ metrics: measured, tracing, logger }: TransportServices): Promise<Interceptor[]> => [
  metrics(measured.requests),
  ...(tracing ? [await spansOf(tracing)] : []),
  requestLog(logger),
];

const present = (owners: readonly (PathOwner | undefined)[]): readonly PathOwner[] =>
  owners.filter((each) => each !== undefined);

/**
 * The options that both transports share. `startShutdown` makes the process not ready; `close` frees what was opened
 * here, and the certificates of `services`.
 */
const transportOptions = async (configuration: Configuration, services: TransportServices) => {
  const { logId, logger, routes, authorization, followers, admission, audit, bindings, uploads } = services;
  const answers = answerBudget(limitsOf(configuration.max_unread_bytes));
  const requests = requestBudget(limitsOf(configuration.max_request_bytes));
  const { bodies, contents } = openThreads();
  const positions = positionTokens(logId);
  const hashLarge = (method: DescMethod, request: Uint8Array): Promise<string> =>
    contents.ask(request, { rpc: rpcName(method) });
  const audited = audit && { trail: audit, isBehindProxy: configuration.auth.behind_tls };
  const authentication = openAuthentication(configuration, authorization, bindings);
  const observers = await observersOf(services);
  const state = { isOpen: true, address: '' };
  const listening = (): string => state.address;
  const sessions = bindings
    ? await openBrowserSessions(configuration, { authentication, authorization, audit, logger, listening })
    : undefined;
  const tls = services.tls ?? openTls(configuration, { logger, onReload: services.metrics.tlsReloaded });
  const table = routeTable(routes);
  const dispatch = dispatcher(
    interceptorsOf({ logger, positions, authentication, hashLarge, followers, admission, observers, audit: audited }),
  );
  return {
    options: {
      routes: table,
      host: configuration.host,
      maxMessageBytes: configuration.max_message_bytes,
      maxConnections: configuration.max_connections,
      tls,
      answers,
      requests,
      positions,
      authentication,
      audit: audited,
      dispatch,
      answerItem: itemAnswers({ dispatch, positions, routes: table }), // one request of a stream or batch
      logger,
      checks: () => (state.isOpen ? services.checks() : [SHUTTING_DOWN, ...services.checks()]),
      version,
      cors: { origins: configuration.cors.allowed_origins, headers: configuration.cors.allowed_headers },
      files: uploads?.files,
      pathOwners: present([authorization, sessions, issuerRedirect(configuration, authorization)]),
      sessions,
      metrics: () => services.metrics.text(),
      readJson: ({ body, ...request }: JsonRequest) => bodies.ask(body, request),
    },
    listensAt: (address: string): void => {
      state.address = address;
    },
    startShutdown: (): void => {
      state.isOpen = false;
    },
    close: async (): Promise<void> => {
      tls?.close();
      answers.close();
      requests.close();
      await Promise.all([bodies.close(), contents.close()]);
    },
  };
};

const shown = (host: string): string => (host.includes(':') ? `[${host}]` : host);

const urlOf = ({ host, tls }: { readonly host: string; readonly tls: object | undefined }, port: number): string =>
  `${tls ? 'https' : 'http'}://${shown(host)}:${port}`;

/** Serves the routes over gRPC and REST, as configured. */
export const startTransports = async (
  configuration: Configuration,
  routes: readonly AnyRoute[],
  services: ProcessServices,
): Promise<Transports> => {
  const { otlp_endpoint: endpoint, sample_ratio: sampleRatio } = configuration.tracing;
  const tracing = await openTracing({ endpoint, sampleRatio, version });
  const authorization = await openAuthorizationServer(configuration, services.logger, services.audit);
  const all = [...routes, ...signInRoutes(signInMetadata(configuration, authorization))];
  const parts = { ...services, routes: all, authorization, tracing };
  const { options, listensAt, startShutdown, close } = await transportOptions(configuration, parts);
  // Waits for the role bindings, for a limited time: until they are read, callers that have their roles by bindings are
  // answered UNAVAILABLE.
  if (options.authentication) await services.bindings?.ready();
  const grpc = await serveGrpc({ ...options, port: configuration.grpc_port });
  const http = await serveHttp({ ...options, port: configuration.http_port });
  const address = urlOf(options, http.port);
  listensAt(address);
  services.uploads?.listensAt(address);
  await authorization?.listensAt(address);
  return {
    grpc: `${shown(options.host)}:${grpc.port}`,
    http: address,
    tls: options.tls,
    authentication: options.authentication,
    passwords: openPasswords(configuration, authorization, services.bindings),
    close: async () => {
      startShutdown();
      await Promise.all([grpc.close({ drainMs: DRAIN_MS }), http.close({ drainMs: DRAIN_MS })]);
      await authorization?.close();
      await close();
      await tracing?.close();
    },
  };
};

/** Serves health, readiness and metrics over HTTP, for a process that does not serve the API. */
export const startProbes = async (
  configuration: Configuration,
  services: ProcessServices,
): Promise<Pick<Transports, 'http' | 'close'>> => {
  const { options, startShutdown, close } = await transportOptions(configuration, { ...services, routes: [] });
  const http = await serveHttp({ ...options, port: configuration.http_port });
  return {
    http: urlOf(options, http.port),
    close: async () => {
      startShutdown();
      await http.close({ drainMs: DRAIN_MS });
      await close();
    },
  };
};
