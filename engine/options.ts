/** How a simulated engine runs. */
export type EngineOptions = {
  /** `HOST:PORT` of the control plane's gRPC. */
  readonly endpoint: string;
  /** Calls in flight at most. */
  readonly concurrency: number;
  /** Events per second at most; 0 is as fast as it goes. */
  readonly rate: number;
  /** The chance, from 0 to 1, that an attempt of a task fails. */
  readonly failureProbability: number;
  /** Decides outputs and failures: one seed gives one run. */
  readonly seed: string;
  /** Whether gates open by themselves or wait for their signal. */
  readonly gates: 'auto' | 'wait';
  /** A folder of compiled closures, one for each dynamic task. */
  readonly dynamicDirectory?: string | undefined;
  /** Ends when nothing is left to run but what waits at a gate. */
  readonly untilIdle: boolean;
};

/** The levels of a logger that the engine uses. */
export interface EngineLogger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** What an engine has done so far; it counts while it runs. */
export type EngineCounters = {
  readonly events: {
    /** Events that have been answered, each counted once however often it was repeated. */
    sent: number;
    ok: number;
    alreadyExists: number;
    refused: number;
    /** Times that an event was sent again because its answer was lost. */
    repeated: number;
  };
  /** Executions that this engine has ended, by phase. */
  readonly executions: Record<EndPhase, number>;
};

/** Sees events pass: the requests as sent, and whether the control plane has them. */
export interface EventWatch {
  sending(request: Uint8Array): void;
  /** `recorded` when the answer says that the event is in the log: OK or ALREADY_EXISTS. */
  answered(request: Uint8Array, answer: 'recorded' | 'refused'): void;
}

export type EndPhase = 'SUCCEEDED' | 'FAILED' | 'ABORTED';

export type EngineSummary = EngineCounters & {
  readonly endedBecause: 'idle' | 'stopped';
  /** Executions that this engine held when it ended, because they wait at a gate or were cut short. */
  readonly held: readonly string[];
  /** Executions that it gave up, with why. */
  readonly dropped: ReadonlyMap<string, string>;
};

export const createCounters = (): EngineCounters => ({
  events: { sent: 0, ok: 0, alreadyExists: 0, refused: 0, repeated: 0 },
  executions: { SUCCEEDED: 0, FAILED: 0, ABORTED: 0 },
});
