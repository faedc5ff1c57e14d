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
import { type Values } from './bindings.js';
import { type WalkOutcome, type Walk } from './effects.js';
import { type Ledger } from './ledger.js';
import { type Literals } from './literal-values.js';

/** State that an earlier engine has reported, as far as this engine has read it. */
export type EarlierState = {
  readonly workflowPhase: WorkflowExecution_Phase;
  readonly nodes: ReadonlyMap<string, EarlierNode>;
  /** Keyed by node id and attempt: `n0/1`. */
  readonly tasks: ReadonlyMap<string, TaskExecution_Phase>;
};

export type EarlierNode = { readonly phase: NodeExecution_Phase; readonly error?: ExecutionError };

/** The definitions that the nodes of a closure refer to. */
export type Library = {
  readonly tasks: ReadonlyMap<string, TaskTemplate>;
  readonly workflows: ReadonlyMap<string, CompiledWorkflow>;
};

/** Position of a graph in an execution. */
export type NodePosition = {
  /** Unique id of the node that contains the graph; empty at the top level. */
  readonly parent: string;
  readonly attempt: number;
  readonly library: Library;
  readonly isInDynamic: boolean;
  /** Name of a dynamic task whose own instances in the graph run as plain tasks. */
  readonly plainTask?: string;
};

/** A node at its position in an execution. */
export type NodeAt = { readonly id: string; readonly node: Node; readonly place: NodePosition };

/** One execution that is being walked. */
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
  readonly walkNode: (run: ExecutionWalk, place: NodePosition, node: Node, values: Values) => Walk<WalkOutcome>;
  readonly walkGraph: (
    run: ExecutionWalk,
    place: NodePosition,
    workflow: CompiledWorkflow,
    inputs: Literals,
  ) => Walk<WalkOutcome>;
};

export const keyOf = (id: Identifier | undefined): string =>
  id ? [id.project, id.domain, id.name, id.version].join('\u0000') : '';

const readLibrary = (closure: CompiledWorkflowClosure): Library => ({
  tasks: new Map(closure.tasks.flatMap(({ template }) => (template ? [[keyOf(template.id), template]] : []))),
  workflows: new Map(
    [...(closure.primary ? [closure.primary] : []), ...closure.subWorkflows].map((each) => [
      keyOf(each.template?.id),
      each,
    ]),
  ),
});

const libraries = new WeakMap<CompiledWorkflowClosure, Library>();

/** The definitions of a closure; cached. */
export const libraryOf = (closure: CompiledWorkflowClosure): Library => {
  const library = libraries.get(closure) ?? readLibrary(closure);
  libraries.set(closure, library);
  return library;
};
