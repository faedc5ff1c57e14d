import type { Logger } from 'pino';
import type { ExecutionAggregate } from '../../execution/aggregate.js';
import { executionStream } from '../../kernel/execution-id.js';
import { WORKFLOW } from '../../execution/phases.js';
import { FORMAT_WITH_DEAD_LETTERS } from '../../kernel/log-format.js';
import type { EventLog } from '../../kernel/ports/event-store.js';
import { StreamParked } from '../../kernel/fault.js';
import type { StreamName } from '../../kernel/stream.js';
import type { ParkedStreams } from '../../kernel/log-readers/parked-streams.js';
import type { Reactor } from '../../kernel/log-readers/follow.js';
import type { NotifyOptions } from '../../reactors/notify/sending.js';
import type { PayloadStore } from '../../kernel/ports/payload-store.js';
import type { Sessions } from '../../kernel/ports/sessions.js';
import { assignPartitions } from '../../kernel/assignment.js';
import {
  expireTerminations,
  type ExpiryOptions,
  hasEnded,
  timeOutExecutions,
} from '../../reactors/expire-terminations/reactor.js';
import { deadLetters } from '../../reactors/frame/dead-letters.js';
import type { MeasuredReactor } from '../../reactors/frame/when-due.js';
import type { WorkFigures } from '../../reactors/frame/work-queue.js';
import type { CountTicks } from '../../reactors/fire-schedules/ports.js';
import { fireSchedules } from '../../reactors/fire-schedules/reactor.js';
import { releaseSlots } from '../../reactors/release-slots/reactor.js';
import type { Slots } from '../../reactors/release-slots/slots.js';
import type { Configuration } from '../../config/configuration.js';
import { type Coordination, openCoordination, workerName } from '../coordination.js';
import { systemTimers } from '../system-timers.js';
import type { ProcessMetrics } from '../../metrics/process-metrics.js';
import { hasChannels, startNotify, startNotifyLongRunning } from './notifications.js';
import type { Launching } from '../launching.js';
import { launcherOf, scheduleSettings, settingsOf } from './schedules.js';
import { describeReactors, REACTORS, reactorBoard } from './reactor-board.js';
import { isMuted, type ReactorName } from './reactor-names.js';
import type { Reactors } from '../../dead-letter/ports.js';
import { sharingOf } from '../views/current-views.js';
import type { Foundation } from '../foundation.js';
import { untilReachable, viewsKey } from '../views/read-stores.js';
import { forSetting } from '../../config/operator-errors.js';

/** The services that the reactors need. */
type ReactorServices = {
  readonly configuration: Pick<Configuration, 'abort' | 'execution' | 'notifications' | 'reactors' | 'schedules'>;
  /** Leases divide the reactors over the processes; without leases this process runs all of them. */
  readonly coordination: Coordination;
  readonly store: EventLog;
  readonly sessions: Sessions;
  readonly executions: ExecutionAggregate;
  readonly slots: Slots;
  readonly payloads: Pick<PayloadStore, 'get'>;
  readonly metrics: Pick<ProcessMetrics, 'channelOpened' | 'notified'>;
  readonly launching: Launching;
  /** Called with an outcome of ticks of schedules, their number and, for skipped ones, the reason. */
  readonly countTicks: CountTicks;
  readonly parked: Pick<ParkedStreams, 'note' | 'onResuming' | 'onResumed'>;
  /** The format of the log. */
  readonly format: () => number;
  readonly logger: Logger;
};

type Start = () => MeasuredReactor;

/** The functions that start the reactors: those that always run, and those that the settings ask for. */
type Starters = Readonly<Partial<Record<ReactorName, Start>>>;

/** The reactors of this process. */
export type RunningReactors = Pick<Reactor, 'close'> & {
  /** Rejects when a reactor cannot go on. */
  readonly ended: Promise<never>;
  /** The figures of the reactors that run in this process, by name. */
  readonly figures: () => ReadonlyMap<string, WorkFigures>;
};

type Shared = Pick<NotifyOptions, 'checkpoint' | 'timers' | 'givingUp' | 'onFailure'> & { readonly log: EventLog };

/** The reactors that send messages; none without a channel. */
const notifyStarters = (
  { configuration: { notifications }, store, sessions, executions, ...parts }: ReactorServices,
  shared: (name: ReactorName) => Shared,
): Starters => {
  if (!hasChannels(notifications)) return {};
  const partsOf = (name: ReactorName) => ({ ...shared(name), ...parts, sessions });
  const { running_longer_than: afterMs } = notifications;
  const isRunning = async (stream: StreamName): Promise<boolean> =>
    !(await hasEnded(store, stream)) &&
    sessions.read(executions, stream, ({ state }) => state.exists && state.phase === WORKFLOW.RUNNING);
  return {
    notify: () => startNotify(notifications, partsOf('notify')),
    ...(afterMs !== undefined && {
      'notify-long-running': () =>
        startNotifyLongRunning(notifications, partsOf('notify-long-running'), { afterMs, isRunning }),
    }),
  };
};

const startersOf = (services: ReactorServices): ReadonlyMap<string, Start> => {
  const { configuration, coordination, store: log, slots, parked, logger } = services;
  const { sessions, executions, launching, countTicks, format } = services;
  const shared = (name: ReactorName) => ({
    log,
    checkpoint: coordination.checkpoint(name, log.logId),
    timers: systemTimers,
    // A log of an older format may be used by the release before again. It knows no dead letters, so it would never do
    // the work that was given up here.
    ...(format() >= FORMAT_WITH_DEAD_LETTERS && {
      givingUp: {
        deadLetters: deadLetters({ name, log, sessions, timers: systemTimers, parked }),
        afterMs: configuration.reactors.dead_letter_after,
      },
    }),
    onFailure: (error: unknown) => {
      if (error instanceof StreamParked) parked.note(error);
      else logger.error({ err: error, reactor: name }, 'a reactor has failed and is retried');
    },
  });
  const handle: ExpiryOptions['handle'] = (stream, command, context) =>
    sessions.handle(executions, stream, command, context);
  const { timeout } = configuration.execution;
  const { schedules } = configuration;
  const starters: Starters = {
    'expire-terminations': () =>
      expireTerminations({ ...shared('expire-terminations'), handle, afterMs: configuration.abort.timeout }),
    'fire-schedules': () =>
      fireSchedules({
        ...shared('fire-schedules'),
        sessions,
        activations: launching.activations,
        launcher: launcherOf(launching),
        settingsOf: settingsOf(launching, scheduleSettings(configuration)),
        timezone: schedules.timezone,
        maxStartsPerSecond: schedules.max_starts_per_second,
        giveUpAfterMs: schedules.give_up_after,
        countTicks,
        parked,
      }),
    'release-slots': () => releaseSlots({ ...shared('release-slots'), slots, streamOf: executionStream }),
    ...notifyStarters(services, shared),
    ...(timeout !== undefined && {
      'time-out-executions': () => timeOutExecutions({ ...shared('time-out-executions'), handle, afterMs: timeout }),
    }),
  };
  return new Map(Object.entries(starters).filter(([name]) => !isMuted(name, log)));
};

/** Starts the reactors that are assigned to this process, and closes those that no longer are. */
const assigned = (starters: ReadonlyMap<string, Start>) => {
  const running = new Map<string, MeasuredReactor>();
  let fail = (_: unknown): void => undefined;
  const ended = new Promise<never>((_, reject) => {
    fail = reject;
  });
  ended.catch(() => undefined); // not unhandled: callers may await `ended` later
  const assign = async (names: readonly string[]): Promise<void> => {
    for (const [name, reactor] of running) {
      if (names.includes(name)) continue;
      running.delete(name);
      await reactor.close();
    }
    for (const name of names) {
      const reactor = running.has(name) ? undefined : starters.get(name)?.();
      if (!reactor) continue;
      running.set(name, reactor);
      reactor.ended.catch(fail);
    }
  };
  const figures = (): ReadonlyMap<string, WorkFigures> =>
    new Map([...running].map(([name, reactor]) => [name, reactor.figures()]));
  return { assign, ended, figures };
};

/**
 * Starts the reactors. Any number of processes may run them on one log: what two of them do for the same event takes
 * effect once, by the id of the command or by the state of the stream that it changes.
 */
const startReactors = async (services: ReactorServices): Promise<RunningReactors> => {
  const { coordination, logger } = services;
  const { leases } = coordination;
  const starters = startersOf(services);
  const partitions = [...starters.keys()];
  const { assign, ended, figures } = assigned(starters);
  if (!leases) {
    await assign(partitions);
    return { ended, figures, close: () => assign([]) };
  }
  const work = assignPartitions({
    leases,
    group: REACTORS,
    partitions,
    worker: workerName(),
    description: () => describeReactors(figures()),
    timers: systemTimers,
    onAssigned: async (names) => {
      await assign(names);
      logger.info({ reactors: names }, 'this process has these reactors');
    },
    onFailure: (error) =>
      logger.warn(
        { err: error },
        'the leases of reactors cannot be used, or a reactor cannot be started or stopped; retrying',
      ),
  });
  return { ended, figures, close: () => work.close() };
};

type Parts = Pick<ReactorServices, 'executions' | 'slots' | 'launching' | 'logger'>;

/** The reactors of a process, which may run none of them. */
export type ProcessReactors = RunningReactors & {
  /** Lists the reactors of all processes; without leases, those of this process. */
  readonly board: Reactors;
  /** Starts the reactors of this process: all of them or, with leases, those that the leases assign to it. */
  readonly start: (parts: Parts) => Promise<void>;
};

/**
 * Opens the leases and checkpoints of reactors. The reactors themselves run from `start` on.
 *
 * @throws {OperatorError} when the store of the views cannot be used.
 */
export const openReactors = async (
  configuration: Configuration,
  foundation: Foundation,
  logger: Logger,
): Promise<ProcessReactors> => {
  const { log, sessions, payloads, metrics, source, parked } = foundation;
  const { format } = foundation.format;
  if (source.views.kind === 'mongodb') await untilReachable(source, log.store.logId, logger);
  const together = sharingOf(configuration, foundation);
  const coordination = await forSetting(viewsKey(source.views), () => openCoordination(source, together));
  const shared = { configuration, coordination, store: log.store, sessions, payloads, metrics, parked, format };
  let running: RunningReactors | undefined;
  let fail = (_: unknown): void => undefined;
  const ended = new Promise<never>((_, reject) => (fail = reject));
  ended.catch(() => undefined); // not unhandled: callers may await `ended` later
  const figures: RunningReactors['figures'] = () => running?.figures() ?? new Map();
  return {
    ended,
    figures,
    board: reactorBoard(coordination, log.store, figures),
    start: async (parts) => {
      running = await startReactors({ ...shared, countTicks: metrics.ticks, ...parts });
      running.ended.catch(fail);
    },
    close: async () => {
      await running?.close();
      await coordination.close();
    },
  };
};
