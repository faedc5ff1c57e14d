import {
  NodeExecution_Phase,
  TaskExecution_Phase,
  WorkflowExecution_Phase,
} from '../../proto/gen/platformidl/core/execution_pb.js';
import { invalid } from '../kernel/rpc.js';
import { visible } from '../kernel/values/visible-text.js';

/** The maximum number of characters of an unknown name that a refusal repeats. */
const SHOWN = 100;

const ALL_NAMES: readonly string[] = [
  ...new Set(
    [WorkflowExecution_Phase, NodeExecution_Phase, TaskExecution_Phase].flatMap((phases) =>
      Object.values(phases).filter((name) => typeof name === 'string'),
    ),
  ),
];

/**
 * Refuses names in the field `phases` that no execution, node or task has as its phase: nothing would ever match them.
 *
 * @throws {RpcError} INVALID_ARGUMENT with the names that there are.
 */
export const assertPhaseNames = (phases: readonly string[]): void => {
  const wrong = phases.find((phase) => !ALL_NAMES.includes(phase));
  if (wrong === undefined) return;
  throw invalid('phases', `'${visible(wrong.slice(0, SHOWN))}' is not one of ${ALL_NAMES.join(', ')}`);
};
