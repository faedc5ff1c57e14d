import { setMaxListeners } from 'node:events';
import { type Execution } from '../proto/gen/platformidl/admin/execution_pb.js';
import { createClient, type InterfaceClient } from './client.js';
import { createWorkerPool, type WorkerPool } from './worker-pool.js';
import { type ControlPlane } from './control-plane.js';
import { createDefinitions, readDynamicClosures } from './definitions.js';
import { createActiveExecutions, executionKey, type ActiveExecution } from './active-executions.js';
import { FeedReader } from './feed/feed-reader.js';
import { createPoller, type Poller } from './poller.js';
import {
  createCounters,
  type EngineCounters,
  type EngineLogger,
  type EngineOptions,
  type EngineSummary,
  type EventWatch,
} from './options.js';
import { createPacer } from './pace.js';
import { createReporter } from './reporter.js';
import { createRetries } from './retries.js';
import { walkActiveExecution } from './walk-execution.js';

export type EngineSurroundings = {
  /** Stops the engine: calls in flight are cancelled, and unfinished executions are left for the next engine. */
  readonly signal: AbortSignal;
  readonly logger: EngineLogger;
  /** Counters to update while the engine runs; by default the engine makes its own. */
  readonly counters?: EngineCounters;
  /**
   * Receives the function to call when there may be work, for an engine that runs in the same process as the control
   * plane.
   */
  readonly onWork?: (wake: () => void) => void;
  /** Observes every event that is sent and its answer, for tests that compare them with the log. */
  readonly watch?: EventWatch;
};

type Walk = (active: ActiveExecution, execution: Execution) => Promise<void>;

/** Number of executions to walk at once, besides those that wait for a child or a gate. */
const capacityOf = (options: EngineOptions): number => Math.max(1, options.concurrency);

const summaryOf = (
  counters: EngineCounters,
  endedBecause: 'idle' | 'stopped',
  left: Pick<EngineSummary, 'held' | 'dropped'>,
): EngineSummary => ({
  ...left,
  endedBecause,
  events: { ...counters.events },
  executions: { ...counters.executions },
});

const walkerOf = (
  options: EngineOptions,
  client: InterfaceClient,
  surroundings: Required<Omit<EngineSurroundings, 'watch' | 'onWork'>> & Pick<EngineSurroundings, 'watch'>,
  work: {
    readonly isActive: (key: string) => boolean;
    readonly activeCount: () => number;
    /** The position of the log at which the engine got the lease of an execution, where it has leases. */
    readonly leasedAt: (key: string) => string | undefined;
    readonly onLaunch: () => void;
  },
): Walk => {
  const { signal, logger, counters, watch } = surroundings;
  const needs = {
    client,
    options,
    signal,
    logger,
    report: createReporter({ client, counters, logger, watch, producerId: options.feed?.name }),
    pace: createPacer(options.rate, signal),
    isActive: (id: Execution['id']) => work.isActive(executionKey(id)),
    onLaunch: work.onLaunch,
    activeCount: work.activeCount,
    leasedAt: (id: Execution['id']) => work.leasedAt(executionKey(id)),
    definitionOf: createDefinitions(client),
    dynamicClosures: readDynamicClosures(options.dynamicDirectory),
  };
  return (active, execution) => walkActiveExecution(needs, active, execution.id);
};

/** Runs a simulated engine against a control plane until it is stopped, or idle if `untilIdle` is set. */
export const runEngine = async (options: EngineOptions, surroundings: EngineSurroundings): Promise<EngineSummary> => {
  const counters = surroundings.counters ?? createCounters();
  const halt = new AbortController();
  const signal = AbortSignal.any([surroundings.signal, halt.signal]);
  // Every pause of every call adds a listener.
  setMaxListeners(0, signal);
  const { feed, endpoint, tls, getToken } = options;
  const plane: ControlPlane = { endpoint, tls, getToken };
  const client = createClient({ ...plane, concurrency: options.concurrency, signal });
  const active = createActiveExecutions();
  const capacity = capacityOf(options);
  const onLaunch = (): void => {
    workers.noteActivity();
    poller.hurry();
  };
  const leasedAt = (key: string): string | undefined => poller.leasedAt?.(key);
  const isActive = (key: string): boolean => active.all.has(key);
  const work = { isActive, activeCount: () => active.all.size, leasedAt, onLaunch };
  const walk = walkerOf(options, client, { ...surroundings, signal, counters }, work);
  const onEnd = (): void => {
    if (workers.pending() < capacity) poller.hurry();
  };
  const { logger } = surroundings;
  const retries = createRetries(logger);
  const workers: WorkerPool = createWorkerPool({ active, retries, capacity, walk, onEnd });
  const { untilIdle } = options;
  const isWoken = surroundings.onWork !== undefined;
  const poller: Poller = feed
    ? new FeedReader({ ...feed, plane, workers, active, capacity, untilIdle, signal, logger })
    : createPoller({ client, workers, active, capacity, untilIdle, isWoken, signal, logger });
  surroundings.onWork?.(() => poller.wake());
  try {
    const endedBecause = await poller.run();
    const left = { held: [...active.all.keys()], dropped: retries.dropped };
    return summaryOf(counters, endedBecause, left);
  } finally {
    halt.abort();
    await workers.settled();
    client.close();
  }
};
