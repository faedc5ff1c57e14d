import { type Execution } from '../proto/gen/platformidl/admin/execution_pb.js';
import { WorkflowExecution_Phase as Phase } from '../proto/gen/platformidl/core/execution_pb.js';
import { type WorkflowExecutionIdentifier } from '../proto/gen/platformidl/core/identifier_pb.js';
import { type ExecutionLost } from './execution-lost.js';

/**
 * The thing that an execution waits for when the last round over its nodes had nothing to do: a child execution or a
 * gate.
 */
export type Wait = 'child' | 'gate';

/** An execution that this engine walks. */
export type ActiveExecution = {
  readonly key: string;
  /** Set when the control plane has requested an abort; the walk checks it between two rounds. */
  abortCause: string | undefined;
  waiting: Wait | undefined;
  /** Set when this engine must do nothing more for the execution; the walk ends with it as its error. */
  lost: ExecutionLost | undefined;
  /** Ends the current pause of the walk, if any. */
  wake: () => void;
};

/** The key `project/domain/name` of an execution; empty without an identifier. */
export const executionKey = (
  id: Pick<WorkflowExecutionIdentifier, 'project' | 'domain' | 'name'> | undefined,
): string => (id ? `${id.project}/${id.domain}/${id.name}` : '');

/** The cause with which the abort of an execution was requested; empty when none was. */
export const abortCauseOf = ({ closure }: Execution): string =>
  closure?.outputResult.case === 'abortMetadata' ? closure.outputResult.value.cause : '';

const ENDS: ReadonlySet<Phase> = new Set([Phase.SUCCEEDED, Phase.FAILED, Phase.ABORTED, Phase.TIMED_OUT]);

/** True for the phase of an execution that has ended. */
export const isExecutionEnd = (phase: Phase): boolean => ENDS.has(phase);

/** The executions that this engine walks. Those that wait for a child or a gate use no capacity. */
export interface ActiveExecutions {
  readonly all: ReadonlyMap<string, ActiveExecution>;
  /** Number of executions that are not waiting. */
  busy(): number;
  add(key: string): ActiveExecution;
  remove(key: string): void;
}

export const createActiveExecutions = (): ActiveExecutions => {
  const all = new Map<string, ActiveExecution>();
  return {
    all,
    busy: () => [...all.values()].filter((each) => each.waiting === undefined).length,
    add: (key) => {
      const execution: ActiveExecution = {
        ...{ key, abortCause: undefined, waiting: undefined, lost: undefined },
        wake: () => undefined,
      };
      all.set(key, execution);
      return execution;
    },
    remove: (key) => void all.delete(key),
  };
};

/**
 * Waits some milliseconds, or until the execution is woken or the engine stops; after that the execution is no longer
 * waiting.
 */
export const waitAsActive = (active: ActiveExecution, milliseconds: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const end = (): void => {
      active.waiting = undefined;
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      active.wake = () => undefined;
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    signal.addEventListener('abort', end, { once: true });
    active.wake = end;
    if (signal.aborted) end();
  });
