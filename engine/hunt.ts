import { status } from '@grpc/grpc-js';
import { WorkflowExecution_Phase } from '../proto/gen/platformidl/core/execution_pb.js';
import { CallError, EngineStopped } from './call-error.js';
import { type InterfaceClient } from './client.js';
import { type Crew } from './crew.js';
import { BEGUN, createFindWork, ENDING, type FindWork, WAITING } from './find-work.js';
import { type Roster } from './held.js';
import { type EngineLogger } from './options.js';
import { createBell, pause } from './pace.js';

const SHORTEST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 1_000;
/** Where it is woken when there is work, it looks for what the waking has missed. */
const LONGEST_PAUSE_WOKEN_MS = 5_000;
/** How long an execution that another engine has left may lie before it is looked for. */
const LOOK_FOR_LEFT_MS = 2000;
/** Looks that must find nothing, one after another, before the engine is idle: a list may lag. */
const LOOKS_UNTIL_IDLE = 2;

export type HuntNeeds = {
  readonly client: InterfaceClient;
  readonly crew: Crew;
  readonly roster: Roster;
  readonly room: number;
  readonly untilIdle: boolean;
  /** Whether somebody calls `wake` when there is work. */
  readonly isWoken: boolean;
  readonly signal: AbortSignal;
  readonly logger: EngineLogger;
};

/** The hunt for work. */
export interface Hunt {
  /** Ends its pause. */
  hurry(): void;
  /** There is work, or will be in a moment: it looks at once, and often for a while. */
  wake(): void;
  /** Resolves when the engine is idle and may end, or was stopped. */
  run(): Promise<'idle' | 'stopped'>;
}

/** The next pause: ever longer while nothing happens. */
export const nextPause = (pauseMs: number, hasActed: boolean, isWoken: boolean): number =>
  hasActed ? SHORTEST_PAUSE_MS : Math.min(isWoken ? LONGEST_PAUSE_WOKEN_MS : LONGEST_PAUSE_MS, pauseMs * 1.5);

/**
 * One look at the lists: what is to be ended always, what waits while there is room to keep it, and when the look is
 * thorough what somebody may have left.
 */
const look = async ({ crew, room }: HuntNeeds, findWork: FindWork, isThorough: boolean): Promise<void> => {
  const waiting = crew.pending() < room ? WAITING : [];
  const isEnough = (): boolean => crew.pending() >= room * 4;
  for await (const execution of findWork([...ENDING, ...waiting, ...(isThorough ? BEGUN : [])])) {
    if (execution.closure?.phase === WorkflowExecution_Phase.ABORTING) crew.abort(execution);
    else crew.offer(execution);
    if (isEnough()) break;
  }
  if (isEnough()) for await (const execution of findWork(ENDING)) crew.abort(execution);
  crew.fill();
};

export const createHunt = (needs: HuntNeeds): Hunt => {
  const { client, crew, roster, signal, untilIdle, isWoken } = needs;
  const findWork = createFindWork(client);
  let pauseMs = SHORTEST_PAUSE_MS;
  let lastThorough = 0;
  let quietLooks = 0;
  let isAwake = false;
  const bell = createBell(signal);

  /** A defect of the control plane spoils one look; anything else that it says to a list is for the caller. */
  const lookThrough = async (isThorough: boolean): Promise<boolean> => {
    try {
      await look(needs, findWork, isThorough);
      return true;
    } catch (error) {
      if (!(error instanceof CallError) || error.code !== status.INTERNAL) throw error;
      needs.logger.warn({ err: error }, 'looking for work failed');
      return false;
    }
  };

  /** Looks once; answers whether nothing happened and nothing is at work. */
  const lookOnce = async (): Promise<boolean> => {
    const before = crew.activity();
    const isThorough = (untilIdle && roster.busy() === 0) || Date.now() - lastThorough > LOOK_FOR_LEFT_MS;
    if (isThorough) lastThorough = Date.now();
    if (!(await lookThrough(isThorough))) return false;
    return isThorough && crew.activity() === before && crew.pending() === 0 && roster.busy() === 0;
  };

  const run = async (): Promise<'idle' | 'stopped'> => {
    while (!signal.aborted) {
      const before = crew.activity();
      quietLooks = (await lookOnce()) ? quietLooks + 1 : 0;
      if (untilIdle && quietLooks >= LOOKS_UNTIL_IDLE) return 'idle';
      pauseMs = nextPause(pauseMs, isAwake || crew.activity() !== before, isWoken);
      isAwake = false;
      // A hurry cuts the pause short, but not to nothing: lists cost the control plane something.
      await pause(SHORTEST_PAUSE_MS, signal);
      await bell.wait(pauseMs - SHORTEST_PAUSE_MS);
    }
    return 'stopped';
  };

  return {
    hurry: () => bell.ring(),
    wake: () => {
      isAwake = true;
      bell.ring();
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
