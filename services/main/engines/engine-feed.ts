import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { EngineService } from '../../../proto/gen/platformidl/eventlog/engine_service_pb.js';
import type { Configuration } from '../../config/configuration.js';
import { engineSessionAggregate } from '../../engine-session/decider.js';
import type { EngineSessionCommand } from '../../engine-session/commands.js';
import { engineSessionStream } from '../../engine-session/events.js';
import type { ExecutionAggregate } from '../../execution/aggregate.js';
import { ExecutionLeases } from '../../execution/work/leases.js';
import { positionTokens } from '../../gateway/position-token.js';
import { FORMAT_WITH_LEASES } from '../../kernel/log-format.js';
import type { EventStore, EventLog } from '../../kernel/ports/event-store.js';
import type { PayloadStore } from '../../kernel/ports/payload-store.js';
import type { Sessions } from '../../kernel/ports/sessions.js';
import type { ParkedStreams } from '../../kernel/log-readers/parked-streams.js';
import { RpcError, type StreamRoute } from '../../kernel/rpc.js';
import type { RegisteredDefinitions } from '../../reference/definitions.js';
import { type EngineFeed, openEngineFeed } from '../../streams/engine-feed/feed.js';
import type { EngineSessions } from '../../streams/engine-feed/ports.js';

/** The services of the engine feed. */
export type FeedParts = {
  readonly configuration: Configuration;
  readonly store: EventStore;
  readonly payloads: PayloadStore;
  readonly sessions: Sessions;
  readonly executions: ExecutionAggregate;
  readonly definitions: Pick<RegisteredDefinitions, 'compiledWorkflow'>;
  /** True when other processes write the log too. */
  readonly isShared: boolean;
  readonly parked: Pick<ParkedStreams, 'note' | 'onResuming'>;
  readonly logger: Logger;
};

const engineSessions = (sessions: Sessions): EngineSessions => {
  const handle = (command: EngineSessionCommand, actor = '') =>
    sessions.handle(engineSessionAggregate, engineSessionStream(command.id), command, {
      actor,
      commandId: randomUUID(),
    });
  return {
    open: async (id, principal) => {
      await handle({ type: 'OpenSession', id }, principal);
    },
    renew: async (id) => (await handle({ type: 'RenewSession', id })).kind === 'accepted',
    renewals: (id) =>
      sessions.read(engineSessionAggregate, engineSessionStream(id), ({ state: { phase, renewals } }) =>
        phase === 'open' ? renewals : undefined,
      ),
    end: async (id, cause, renewals) => {
      await handle({ type: 'EndSession', id, cause, renewals });
    },
  };
};

/** The weight of each project, 1 where the settings name none. A project may be named `constructor`. */
export const projectWeights = (settings: Readonly<Record<string, number>>): ((project: string) => number) => {
  const weights = new Map(Object.entries(settings));
  return (project) => weights.get(project) ?? 1;
};

/** Opens the engine feed of a process; the caller closes it. */
export const openFeed = (parts: FeedParts): EngineFeed => {
  const { configuration, store, payloads, sessions, executions, definitions, isShared, parked, logger } = parts;
  const { lease_duration: leaseMs, project_weights: weights } = configuration.engine_feed;
  const feed = openEngineFeed({
    log: store,
    leases: new ExecutionLeases({
      ...{ sessions, aggregate: executions, log: store, payloads },
      compiledWorkflow: definitions.compiledWorkflow,
      maxOutputBytes: configuration.max_output_bytes,
      timeoutMs: configuration.execution.timeout ?? 0,
    }),
    sessions: engineSessions(sessions),
    positionToken: (position) => positionTokens(store.logId).format(position),
    weightOf: projectWeights(weights),
    ...{
      leaseMs,
      isShared,
      now: Date.now,
      steadyMs: () => performance.now(),
      newSession: randomUUID,
      onParked: parked.note,
    },
    onFailure: (error) => logger.warn({ err: error }, 'an operation of the engine feed has failed; the feed continues'),
  });
  parked.onResuming((stream) => feed.resume(stream));
  return feed;
};

/** True when engines can have leases in a log of this format. */
export const hasLeases = (format: number): boolean => format >= FORMAT_WITH_LEASES;

const assertFormat = (format: number): void => {
  if (hasLeases(format)) return;
  throw new RpcError(
    'FAILED_PRECONDITION',
    `the log is written in format ${format}, which has no leases: switch it with \`flightlog log format --to ${FORMAT_WITH_LEASES}\``,
  );
};

/** The route of the engine feed. */
export const feedRoutes = (feed: EngineFeed, format: () => number): readonly StreamRoute[] => [
  {
    method: EngineService.method.work,
    takes: 'stream',
    open: (requests, call, signal) => {
      assertFormat(format());
      return feed.open(requests, call, signal);
    },
  },
];

/** The events that give an engine something to do. */
const WORK = { types: ['ExecutionCreated', 'TerminationRequested'] };

/** Calls `wake` for each page of new {@link WORK} events from now on, until the log is closed or cannot be followed. */
export const watchWork = (log: Pick<EventLog, 'head' | 'subscribe'>, wake: () => void): void => {
  const watch = async (): Promise<void> => {
    const after = await log.head();
    await log.subscribe({ after, filter: WORK }, ({ events }) => (events.length > 0 ? wake() : undefined)).ended;
  };
  watch().catch(() => undefined); // an engine that is not woken polls
};
