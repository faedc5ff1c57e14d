import type { CompiledWorkflow, CompiledWorkflowClosure } from '../../proto/gen/platformidl/core/compiler_pb.js';
import type { Node } from '../../proto/gen/platformidl/core/workflow_pb.js';

/** The workflow that a node runs inside its workflow; `undefined` for other nodes. */
export const subWorkflowOf = (
  { target }: Node,
  { subWorkflows }: CompiledWorkflowClosure,
): CompiledWorkflow | undefined => {
  if (target.case !== 'workflowNode' || target.value.reference.case !== 'subWorkflowRef') return undefined;
  const { name, version } = target.value.reference.value;
  return subWorkflows.find(({ template }) => template?.id?.name === name && template.id.version === version);
};
