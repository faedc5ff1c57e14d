import { status } from '@grpc/grpc-js';
import { CallError, EngineStopped } from './call-error.js';
import { type InterfaceClient } from './client.js';
import { type Crew } from './crew.js';
import { BEGUN, ENDING, findWork, WAITING } from './find-work.js';
import { type Roster } from './held.js';
import { type EngineLogger } from './options.js';
import { createBell, pause } from './pace.js';

const SHORTEST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 500;
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
  readonly signal: AbortSignal;
  readonly logger: EngineLogger;
};

/** The hunt for work; `hurry` ends its pause. */
export interface Hunt {
  hurry(): void;
  /** Resolves when the engine is idle and may end, or was stopped. */
  run(): Promise<'idle' | 'stopped'>;
}

/** One look at the lists: what is to be ended always, what waits while there is room to keep it. */
const look = async ({ client, crew, room }: HuntNeeds, isThorough: boolean): Promise<void> => {
  for await (const execution of findWork(client, ENDING)) crew.abort(execution);
  if (crew.pending() < room) {
    for await (const execution of findWork(client, WAITING)) {
      crew.offer(execution);
      if (crew.pending() >= room * 4) break;
    }
  }
  if (isThorough) for await (const execution of findWork(client, BEGUN)) crew.offer(execution);
  crew.fill();
};

export const createHunt = (needs: HuntNeeds): Hunt => {
  const { crew, roster, signal } = needs;
  let pauseMs = SHORTEST_PAUSE_MS;
  let lastThorough = 0;
  let quietLooks = 0;
  const bell = createBell(signal);

  /** A defect of the control plane spoils one look; anything else that it says to a list is for the caller. */
  const lookThrough = async (isThorough: boolean): Promise<boolean> => {
    try {
      await look(needs, isThorough);
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
    const isThorough = roster.busy() === 0 || Date.now() - lastThorough > LOOK_FOR_LEFT_MS;
    if (isThorough) lastThorough = Date.now();
    if (!(await lookThrough(isThorough))) return false;
    return isThorough && crew.activity() === before && crew.pending() === 0 && roster.busy() === 0;
  };

  const run = async (): Promise<'idle' | 'stopped'> => {
    while (!signal.aborted) {
      const before = crew.activity();
      quietLooks = (await lookOnce()) ? quietLooks + 1 : 0;
      if (needs.untilIdle && quietLooks >= LOOKS_UNTIL_IDLE) return 'idle';
      pauseMs = crew.activity() === before ? Math.min(LONGEST_PAUSE_MS, pauseMs * 1.5) : SHORTEST_PAUSE_MS;
      // A hurry cuts the pause short, but not to nothing: lists cost the control plane something.
      await pause(SHORTEST_PAUSE_MS, signal);
      await bell.wait(pauseMs - SHORTEST_PAUSE_MS);
    }
    return 'stopped';
  };

  return {
    hurry: () => bell.ring(),
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
