import type { DescMethod } from '@bufbuild/protobuf';
import type { Logger } from 'pino';
import { signInRoutes } from '../auth/metadata/rpc.js';
import type { PasswordAuthentication } from '../auth/passwords.js';
import type { AuthorizationServer } from '../auth/server/authorization-server.js';
import { answerBudget, requestBudget, type MemoryBudgetLimits } from '../gateway/memory-budget.js';
import { dispatcher } from '../gateway/dispatch/dispatch.js';
import { itemAnswers } from '../gateway/items.js';
import { interceptorsOf } from '../gateway/dispatch/interceptors.js';
import { metrics } from '../gateway/dispatch/metrics.js';
import { requestLog } from '../gateway/dispatch/request-log.js';
import { spans } from '../gateway/dispatch/spans.js';
import type { CommandAdmission, Follower } from '../gateway/dispatch/min-position.js';
import type { JsonRequest } from '../gateway/exchange.js';
import { serveGrpc } from '../gateway/grpc/server.js';
import { positionTokens } from '../gateway/position-token.js';
import { serveHttp } from '../gateway/rest/server.js';
import type { Check } from '../gateway/readiness.js';
import { routeTable, rpcName } from '../gateway/routes.js';
import type { AuditTrail } from '../kernel/ports/audit-trail.js';
import type { Authentication } from '../kernel/ports/authentication.js';
import type { AnyRoute } from '../kernel/rpc.js';
import type { RoleBindings } from '../reference/role-bindings.js';
import type { ProcessMetrics } from '../metrics/process-metrics.js';
import { openTracing, type Tracing } from '../tracing/otlp.js';
import type { Configuration } from '../config/configuration.js';
import { openAuthentication, openPasswords, signInMetadata } from './authentication.js';
import { openAuthorizationServer } from './authorization-server.js';
import { openBrowserSessions } from './browser-sessions.js';
import { largeWork } from './threads/large-work.js';
import { tlsOf } from './tls-files.js';
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
  /** Identifies callers; absent without authentication. */
  readonly authentication: Authentication | undefined;
  /** Identifies callers by passwords; absent where tokens are issued elsewhere. */
  readonly passwords: PasswordAuthentication | undefined;
  /** Refuses new calls, and finishes those in flight. */
  readonly close: () => Promise<void>;
};

const limitsOf = (totalBytes: number): MemoryBudgetLimits => ({
  totalBytes,
  perConnectionBytes: totalBytes / 2,
  waitMs: MEMORY_WAIT_MS,
  stallTimeoutMs: STALL_TIMEOUT_MS,
});

const GOING: Check = { name: 'process', state: 'down', why: 'shutting down: no new calls are accepted' };

/** The services that the transports need of the process. */
export type Hosted = {
  readonly logId: string;
  readonly logger: Logger;
  /** Absent where this process serves no links to uploads. */
  readonly uploads?: Uploads;
  /** The subscriptions whose state commands are decided on; absent where the process takes no commands. */
  readonly known?: readonly Follower[];
  readonly admission?: CommandAdmission;
  readonly metrics: ProcessMetrics;
  /** Absent in a process that does not serve the interface. */
  readonly bindings?: RoleBindings;
  readonly audit?: AuditTrail | undefined;
  /** Health of the components. */
  readonly checks: () => readonly Check[];
};

/** The parts that the transports serve: the services of the process, and what belongs to the transports alone. */
type Serving = Hosted & {
  readonly routes: readonly AnyRoute[];
  /** Issues tokens; absent where they are issued elsewhere, or not at all. */
  readonly authorization?: AuthorizationServer | undefined;
  readonly tracing?: Tracing | undefined;
};

/** Opens the threads that read and hash large requests. */
const openThreads = () => ({
  bodies: largeWork<Omit<JsonRequest, 'body'>, Uint8Array>({
    thread: new URL('./threads/json-thread.js', import.meta.url),
    waiting: 'large bodies wait to be read',
  }),
  contents: largeWork<{ readonly rpc: string }, string>({
    thread: new URL('./threads/content-thread.js', import.meta.url),
    waiting: 'large requests with an idempotency key wait to be hashed',
  }),
});

/** The options that both transports share. `leave` makes the process not ready; `close` frees what was opened here. */
const hostingOf = async (configuration: Configuration, serving: Serving) => {
  const { logId, logger, routes, authorization, tracing, ...asked } = serving;
  const answers = answerBudget(limitsOf(configuration.max_unread_bytes));
  const requests = requestBudget(limitsOf(configuration.max_request_bytes));
  const { bodies, contents } = openThreads();
  const positions = positionTokens(logId);
  const hashLarge = (method: DescMethod, request: Uint8Array): Promise<string> =>
    contents.ask(request, { rpc: rpcName(method) });
  const { known, admission } = asked;
  const audited = asked.audit && { trail: asked.audit, isBehindProxy: configuration.auth.behind_tls };
  const authentication = openAuthentication(configuration, authorization, asked.bindings);
  const observers = [metrics(asked.metrics.requests), ...(tracing ? [spans(tracing.tracer)] : []), requestLog(logger)];
  const state = { isOpen: true, address: '' };
  const listening = (): string => state.address;
  const sessions = asked.bindings
    ? await openBrowserSessions(configuration, { authentication, authorization, audit: asked.audit, logger, listening })
    : undefined;
  const table = routeTable(routes);
  const dispatch = dispatcher(
    interceptorsOf({ logger, positions, authentication, hashLarge, known, admission, observers, audit: audited }),
  );
  return {
    hosting: {
      routes: table,
      host: configuration.host,
      maxMessageBytes: configuration.max_message_bytes,
      maxConnections: configuration.max_connections,
      tls: tlsOf(configuration),
      answers,
      requests,
      positions,
      authentication,
      dispatch,
      answerItem: itemAnswers({ dispatch, positions, routes: table }),
      logger,
      checks: () => (state.isOpen ? asked.checks() : [GOING, ...asked.checks()]),
      version,
      cors: { origins: configuration.cors.allowed_origins, headers: configuration.cors.allowed_headers },
      files: asked.uploads?.files,
      ownPaths: [authorization, sessions].filter((each) => each !== undefined),
      sessions,
      metrics: () => asked.metrics.text(),
      readJson: ({ body, ...asked }: JsonRequest) => bodies.ask(body, asked),
    },
    listensAt: (address: string): void => {
      state.address = address;
    },
    leave: (): void => {
      state.isOpen = false;
    },
    close: async (): Promise<void> => {
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
  hosted: Hosted,
): Promise<Transports> => {
  const { otlp_endpoint: endpoint, sample_ratio: sampleRatio } = configuration.tracing;
  const tracing = await openTracing({ endpoint, sampleRatio, version });
  const authorization = await openAuthorizationServer(configuration, hosted.logger, hosted.audit);
  const all = [...routes, ...signInRoutes(signInMetadata(configuration, authorization))];
  const parts = { ...hosted, routes: all, authorization, tracing };
  const { hosting, listensAt, leave, close } = await hostingOf(configuration, parts);
  // Until the role bindings are known, callers with roles of bindings are refused.
  if (hosting.authentication) await hosted.bindings?.ready();
  const grpc = await serveGrpc({ ...hosting, port: configuration.grpc_port });
  const http = await serveHttp({ ...hosting, port: configuration.http_port });
  const address = urlOf(hosting, http.port);
  listensAt(address);
  hosted.uploads?.listensAt(address);
  await authorization?.listensAt(address);
  return {
    grpc: `${shown(hosting.host)}:${grpc.port}`,
    http: address,
    authentication: hosting.authentication,
    passwords: openPasswords(configuration, authorization, hosted.bindings),
    close: async () => {
      leave();
      await Promise.all([grpc.close({ drainMs: DRAIN_MS }), http.close({ drainMs: DRAIN_MS })]);
      await authorization?.close();
      await close();
      await tracing?.close();
    },
  };
};

/** Serves health, readiness and metrics over HTTP, for a process that does not serve the interface. */
export const startProbes = async (
  configuration: Configuration,
  hosted: Hosted,
): Promise<Omit<Transports, 'grpc' | 'authentication' | 'passwords'>> => {
  const { hosting, leave, close } = await hostingOf(configuration, { ...hosted, routes: [] });
  const http = await serveHttp({ ...hosting, port: configuration.http_port });
  return {
    http: urlOf(hosting, http.port),
    close: async () => {
      leave();
      await http.close({ drainMs: DRAIN_MS });
      await close();
    },
  };
};
