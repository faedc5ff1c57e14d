import { create, toBinary } from '@bufbuild/protobuf';

import { CompiledWorkflowClosureSchema } from '../../../proto/gen/platformidl/core/compiler_pb.js';
import { type Identifier, IdentifierSchema } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import type { WorkflowTemplate } from '../../../proto/gen/platformidl/core/workflow_pb.js';
import { collectedErrors } from '../../compiler/compile-error.js';
import { identifierText, identifierKey } from '../../compiler/identifier-key.js';
import { requirementsOf } from '../../compiler/graph/requirements.js';
import { compileWorkflow } from '../../compiler/workflow.js';
import { digestOf } from '../../kernel/encoding/digest.js';
import type { Version } from '../../kernel/identifier.js';
import { RpcError } from '../../kernel/rpc.js';
import type { RegisterWorkflow } from '../commands.js';
import type { Requirements } from '../ports.js';

/** A workflow to compile, with its sub-workflows. */
export type WorkflowSource = {
  readonly template: WorkflowTemplate;
  readonly subWorkflows: readonly WorkflowTemplate[];
};

/** The limits for a workflow; 0 means no limit. */
export type WorkflowLimits = { readonly nodes: number; readonly closureBytes: number };

/** Compiling adds a start and an end node to the nodes of the request. */
const ADDED_NODES = 2;

const found = async <Value>(
  ids: readonly Identifier[],
  lookUp: (id: Identifier) => Promise<Value | undefined>,
): Promise<(id: Identifier) => Value | undefined> => {
  const values = new Map(await Promise.all(ids.map(async (id) => [identifierKey(id), await lookUp(id)] as const)));
  return (id) => values.get(identifierKey(id));
};

const assertWithin = (limits: WorkflowLimits, id: Version, { nodes, closureBytes }: WorkflowLimits): void => {
  if (limits.closureBytes > 0 && closureBytes > limits.closureBytes) {
    const text = `Workflow closure size exceeds max limit [${limits.closureBytes}]: it has ${closureBytes} bytes`;
    throw new RpcError('INVALID_ARGUMENT', text);
  }
  if (limits.nodes > 0 && nodes > limits.nodes) {
    const text = `number of nodes in workflow [${identifierText(id)}] exceeds limit (${nodes} > ${limits.nodes})`;
    throw new RpcError('INVALID_ARGUMENT', text);
  }
};

/** The compiled part of a registration; the description comes from the request. */
export type Compiled = Omit<RegisterWorkflow, 'description'>;

/**
 * Compiles a workflow under the id that it is registered with.
 *
 * @throws {RpcError} INVALID_ARGUMENT with the errors of the workflow, or the limit that it exceeds.
 */
export const compiledFrom = async (
  id: Version,
  source: WorkflowSource,
  requirements: Requirements,
  limits: WorkflowLimits,
): Promise<Compiled> => {
  const template = { ...source.template, id: create(IdentifierSchema, id) };
  const { tasks, launchPlans } = requirementsOf(template, source.subWorkflows);
  const task = await found(tasks, (each) => requirements.task(each));
  const launchPlan = await found(launchPlans, (each) => requirements.launchPlan(each));
  const result = compileWorkflow({ template, subWorkflows: source.subWorkflows, task, launchPlan });
  if ('errors' in result) {
    const text = `failed to compile workflow for [${identifierText(id)}] with err: ${collectedErrors(result.errors)}`;
    throw new RpcError('INVALID_ARGUMENT', text);
  }
  const { closure } = result;
  const compiled = toBinary(CompiledWorkflowClosureSchema, closure);
  const primary = closure.primary?.template;
  assertWithin(limits, id, { nodes: (primary?.nodes.length ?? 0) - ADDED_NODES, closureBytes: compiled.length });
  return {
    id,
    compiled,
    digest: digestOf(CompiledWorkflowClosureSchema, closure),
    interface: primary?.interface,
    qualityOfService: primary?.metadata?.qualityOfService,
  };
};
