import { status } from '@grpc/grpc-js';
import { WorkflowExecution_Phase } from '../proto/gen/platformidl/core/execution_pb.js';
import { CallError, EngineStopped } from './call-error.js';
import { type InterfaceClient } from './client.js';
import { type WorkerPool } from './worker-pool.js';
import { STARTED, createFindWork, ENDING, type FindWork, WAITING } from './find-work.js';
import { type ActiveExecutions } from './active-executions.js';
import { type EngineLogger } from './options.js';
import { createWakeSignal, pause } from './pace.js';

const SHORTEST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 1_000;
/** The longest pause of an engine that is woken when there is work: its polls find only what a wake-up has missed. */
const LONGEST_PAUSE_WOKEN_MS = 5_000;
/**
 * The first poll after more than this time is thorough: it also finds executions that another engine has started and
 * abandoned. With `untilIdle`, every poll is thorough while no execution uses capacity.
 */
const THOROUGH_POLL_MS = 2000;
/** Number of polls in a row that must find nothing before the engine is idle: a list may lag. */
const POLLS_UNTIL_IDLE = 2;

export type PollerOptions = {
  readonly client: InterfaceClient;
  readonly workers: WorkerPool;
  readonly active: ActiveExecutions;
  readonly capacity: number;
  readonly untilIdle: boolean;
  /** True when `wake` is called as soon as there is work. */
  readonly isWoken: boolean;
  readonly signal: AbortSignal;
  readonly logger: EngineLogger;
};

/** Finds executions to walk, by polls of the control plane's lists or from the engine feed. */
export interface Poller {
  /** Called when capacity may be free again, or a child was launched: an engine that polls ends its pause. */
  hurry(): void;
  /** Called when there is work, or will be in a moment: an engine that polls does so soon, and often for a while. */
  wake(): void;
  /**
   * The position of the log at which the engine got the lease of an execution, where it has leases: what is read of the
   * execution must include the events up to it.
   */
  leasedAt?(key: string): string | undefined;
  /** Resolves when the engine is idle and may end, or was stopped. */
  run(): Promise<'idle' | 'stopped'>;
}

/** The next pause in milliseconds: longer each time while nothing happens. */
export const nextPause = (pauseMs: number, hasActed: boolean, isWoken: boolean): number =>
  hasActed ? SHORTEST_PAUSE_MS : Math.min(isWoken ? LONGEST_PAUSE_WOKEN_MS : LONGEST_PAUSE_MS, pauseMs * 1.5);

/**
 * One poll of the lists: executions to be aborted always, waiting ones while fewer are queued than may run at a time,
 * and in a thorough poll also those that another engine may have left. It stops when four times as many are queued.
 * Then the executions to be aborted are read alone, because the list was not read to its end.
 */
const pollLists = async (
  { workers, capacity }: PollerOptions,
  findWork: FindWork,
  isThorough: boolean,
): Promise<void> => {
  const waiting = workers.pending() < capacity ? WAITING : [];
  const isEnough = (): boolean => workers.pending() >= capacity * 4;
  for await (const execution of findWork([...ENDING, ...waiting, ...(isThorough ? STARTED : [])])) {
    if (execution.closure?.phase === WorkflowExecution_Phase.ABORTING) workers.abort(execution);
    else workers.offer(execution);
    if (isEnough()) break;
  }
  if (isEnough()) for await (const execution of findWork(ENDING)) workers.abort(execution);
  workers.fill();
};

export const createPoller = (needs: PollerOptions): Poller => {
  const { client, workers, active, signal, untilIdle, isWoken } = needs;
  const findWork = createFindWork(client);
  let pauseMs = SHORTEST_PAUSE_MS;
  let lastThorough = Number.NEGATIVE_INFINITY;
  let quietPolls = 0;
  let isAwake = false;
  const wakeSignal = createWakeSignal(signal);

  /** An INTERNAL answer fails one poll; any other error ends the run. */
  const tryPoll = async (isThorough: boolean): Promise<boolean> => {
    try {
      await pollLists(needs, findWork, isThorough);
      return true;
    } catch (error) {
      if (!(error instanceof CallError) || error.code !== status.INTERNAL) throw error;
      needs.logger.warn({ err: error }, 'reading work failed');
      return false;
    }
  };

  /**
   * Polls once; true when the poll was a thorough one, nothing happened, and no execution uses capacity, is queued or
   * waits for another attempt.
   */
  const pollOnce = async (): Promise<boolean> => {
    const before = workers.activity();
    const isThorough = (untilIdle && active.busy() === 0) || performance.now() - lastThorough > THOROUGH_POLL_MS;
    if (isThorough) lastThorough = performance.now();
    if (!(await tryPoll(isThorough))) return false;
    return isThorough && workers.activity() === before && workers.pending() === 0 && active.busy() === 0;
  };

  const run = async (): Promise<'idle' | 'stopped'> => {
    while (!signal.aborted) {
      const before = workers.activity();
      quietPolls = (await pollOnce()) ? quietPolls + 1 : 0;
      if (untilIdle && quietPolls >= POLLS_UNTIL_IDLE) return 'idle';
      pauseMs = nextPause(pauseMs, isAwake || workers.activity() !== before, isWoken);
      isAwake = false;
      // A wake-up shortens the pause, but not to zero: polls cost the control plane time.
      await pause(SHORTEST_PAUSE_MS, signal);
      await wakeSignal.wait(pauseMs - SHORTEST_PAUSE_MS);
    }
    return 'stopped';
  };

  return {
    hurry: () => wakeSignal.ring(),
    wake: () => {
      isAwake = true;
      wakeSignal.ring();
    },
    run: async () => {
      try {
        return await run();
      } catch (error) {
        if (error instanceof EngineStopped) return 'stopped';
        throw error;
      }
    },
  };
};
