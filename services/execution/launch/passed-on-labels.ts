import {
  ExecutionMetadata_ExecutionMode as ExecutionMode,
  type ExecutionSpec,
} from '../../../proto/gen/platformidl/admin/execution_pb.js';

/** The labels that propeller generates for an execution and passes on to its children. */
const PASSED_ON_LABELS = ['execution-id', 'project', 'domain', 'workflow-name'];

/** True for an execution that the engine launches for a node of its parent. */
export const isChild = ({ metadata }: ExecutionSpec): boolean => metadata?.mode === ExecutionMode.CHILD_WORKFLOW;

/**
 * The keys of the labels that do not count towards limits, because the caller did not choose them: a child has them
 * from its parent, and an execution that launches a child again has them from that child. So they are not counted for
 * any execution with a reference execution: whether that one is a child is not looked up.
 */
export const uncountedLabels = (spec: ExecutionSpec): readonly string[] =>
  isChild(spec) || spec.metadata?.referenceExecution !== undefined ? PASSED_ON_LABELS : [];
