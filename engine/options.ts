import type { ControlPlane } from './control-plane.js';

/** Settings of a simulated engine. */
export type EngineOptions = ControlPlane & {
  /** Maximum number of calls in flight. */
  readonly concurrency: number;
  /** Maximum number of events per second; 0 is no limit. */
  readonly rate: number;
  /** Probability, from 0 to 1, that an attempt of a task fails. */
  readonly failureProbability: number;
  /** Seed of outputs and failures. */
  readonly seed: string;
  /** Gates open by themselves (`auto`), or wait for their signal or time (`wait`). */
  readonly gates: 'auto' | 'wait';
  /** Folder of compiled closures, one for each dynamic task. */
  readonly dynamicDirectory?: string | undefined;
  /** The group and the name by which the engine gets its work from the feed; it polls lists where this is absent. */
  readonly feed?: { readonly group: string; readonly name: string } | undefined;
  /** Ends the engine when it has no work but executions that wait at a gate or for a child execution. */
  readonly untilIdle: boolean;
};

/** The levels of a logger that the engine uses. */
export interface EngineLogger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** Counters of an engine, updated while it runs. */
export type EngineCounters = {
  readonly events: {
    /** Events that have been answered; an event that was retried counts once. */
    sent: number;
    ok: number;
    alreadyExists: number;
    refused: number;
    /** Number of times that an event was sent again. */
    repeated: number;
  };
  /** Ends of executions that this engine has reported, by phase. */
  readonly executions: Record<EndPhase, number>;
};

/** Observes events: the requests as sent, and what the control plane has answered. */
export interface EventWatch {
  sending(request: Uint8Array): void;
  /** `recorded` is OK; `repeated` is ALREADY_EXISTS: the log has this event, or another of the same phase. */
  answered(request: Uint8Array, answer: 'recorded' | 'repeated' | 'refused'): void;
}

export type EndPhase = 'SUCCEEDED' | 'FAILED' | 'ABORTED';

export type EngineSummary = EngineCounters & {
  readonly endedBecause: 'idle' | 'stopped';
  /** Executions that this engine walked when it ended: they wait at a gate or for a child, or were interrupted. */
  readonly held: readonly string[];
  /** Executions that it gave up, with the reason. */
  readonly dropped: ReadonlyMap<string, string>;
};

export const createCounters = (): EngineCounters => ({
  events: { sent: 0, ok: 0, alreadyExists: 0, refused: 0, repeated: 0 },
  executions: { SUCCEEDED: 0, FAILED: 0, ABORTED: 0 },
});
