import { type CompiledWorkflow, type CompiledWorkflowClosure } from '../../proto/gen/platformidl/core/compiler_pb.js';
import {
  type ExecutionError,
  type NodeExecution_Phase,
  type TaskExecution_Phase,
  type WorkflowExecution_Phase,
} from '../../proto/gen/platformidl/core/execution_pb.js';
import { type Identifier, type WorkflowExecutionIdentifier } from '../../proto/gen/platformidl/core/identifier_pb.js';
import { type TaskTemplate } from '../../proto/gen/platformidl/core/tasks_pb.js';
import { type Node } from '../../proto/gen/platformidl/core/workflow_pb.js';
import { type NodeOutputs } from './values/bindings.js';
import { type WalkOutcome, type Walk } from './effects.js';
import { PARENT_ATTEMPT, uniqueNodeId } from './ids.js';
import { type Ledger } from './ledger.js';
import { type Literals } from './values/literal-values.js';

/** State that an earlier walk has reported, as far as this engine has read it. */
export type EarlierState = {
  readonly workflowPhase: WorkflowExecution_Phase;
  readonly nodes: ReadonlyMap<string, EarlierNode>;
  /** Keyed by node id and attempt: `n0/1`. */
  readonly tasks: ReadonlyMap<string, TaskExecution_Phase>;
};

export type EarlierNode = { readonly phase: NodeExecution_Phase; readonly error?: ExecutionError };

/**
 * The definitions in a compiled workflow closure, by `definitionKey` of their identifiers: nodes refer to tasks and
 * workflows.
 */
export type ClosureDefinitions = {
  readonly tasks: ReadonlyMap<string, TaskTemplate>;
  readonly workflows: ReadonlyMap<string, CompiledWorkflow>;
};

/**
 * The position of a graph of nodes in an execution: the node that contains the graph, and the definitions that its
 * nodes refer to.
 */
export type GraphPosition = {
  /** Unique id of the node that contains the graph; empty at the top level. */
  readonly parent: string;
  readonly definitions: ClosureDefinitions;
  readonly isInDynamic: boolean;
  /** Name of the dynamic task that made the graph: its instances in the graph run as plain tasks. */
  readonly plainTask?: string;
};

/** A node with its id, which is unique in the execution, and the position of the graph that it is in. */
export type NodeAt = { readonly id: string; readonly node: Node; readonly position: GraphPosition };

export const nodeAt = (position: GraphPosition, node: Node): NodeAt => ({
  id: uniqueNodeId(position.parent, PARENT_ATTEMPT, node.id),
  node,
  position,
});

/** One execution that the engine walks: the constant inputs of the walk, and the ledger of what is open. */
export type ExecutionWalk = {
  readonly id: WorkflowExecutionIdentifier;
  readonly seed: string;
  readonly failureProbability: number;
  readonly gates: 'auto' | 'wait';
  readonly isRecovery: boolean;
  readonly known: EarlierState;
  readonly ledger: Ledger;
  readonly dynamicClosure: (taskName: string) => CompiledWorkflowClosure | undefined;
  /** Passed in, so that the modules of nodes and graphs need not import each other. */
  readonly walkNode: (
    run: ExecutionWalk,
    position: GraphPosition,
    node: Node,
    values: NodeOutputs,
  ) => Walk<WalkOutcome>;
  readonly walkGraph: (
    run: ExecutionWalk,
    position: GraphPosition,
    workflow: CompiledWorkflow,
    inputs: Literals,
  ) => Walk<WalkOutcome>;
};

/** The key of a task or workflow by its identifier; tasks and workflows may have the same key. */
export const definitionKey = (id: Identifier | undefined): string =>
  id ? [id.project, id.domain, id.name, id.version].join('\u0000') : '';

const readDefinitions = (closure: CompiledWorkflowClosure): ClosureDefinitions => ({
  tasks: new Map(closure.tasks.flatMap(({ template }) => (template ? [[definitionKey(template.id), template]] : []))),
  workflows: new Map(
    [...(closure.primary ? [closure.primary] : []), ...closure.subWorkflows].map((each) => [
      definitionKey(each.template?.id),
      each,
    ]),
  ),
});

const knownDefinitions = new WeakMap<CompiledWorkflowClosure, ClosureDefinitions>();

/** The definitions in a closure; cached. */
export const definitionsOf = (closure: CompiledWorkflowClosure): ClosureDefinitions => {
  const definitions = knownDefinitions.get(closure) ?? readDefinitions(closure);
  knownDefinitions.set(closure, definitions);
  return definitions;
};
