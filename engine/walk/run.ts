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
import { type End, type Walk } from './effects.js';
import { type Ledger } from './ledger.js';
import { type Literals } from './literal-values.js';

/** What an engine that ran before has reported, as far as this one has read it. */
export type Known = {
  readonly workflowPhase: WorkflowExecution_Phase;
  readonly nodes: ReadonlyMap<string, KnownNode>;
  /** By node id and attempt: `n0/1`. */
  readonly tasks: ReadonlyMap<string, TaskExecution_Phase>;
};

export type KnownNode = { readonly phase: NodeExecution_Phase; readonly error?: ExecutionError };

/** The definitions that the nodes of a closure refer to. */
export type Library = {
  readonly tasks: ReadonlyMap<string, TaskTemplate>;
  readonly workflows: ReadonlyMap<string, CompiledWorkflow>;
};

/** Where in an execution a graph is walked. */
export type Place = {
  /** The unique id of the node that the graph lies under; empty at the top. */
  readonly parent: string;
  readonly attempt: number;
  readonly library: Library;
  readonly isInDynamic: boolean;
  /** A dynamic task whose own instances run as plain tasks. */
  readonly plainTask?: string;
};

/** A node in its place. */
export type NodeAt = { readonly id: string; readonly node: Node; readonly place: Place };

/** One execution as it is walked. */
export type Run = {
  readonly id: WorkflowExecutionIdentifier;
  readonly seed: string;
  readonly failureProbability: number;
  readonly gates: 'auto' | 'wait';
  readonly isRecovery: boolean;
  readonly known: Known;
  readonly ledger: Ledger;
  readonly dynamicClosure: (taskName: string) => CompiledWorkflowClosure | undefined;
  /** Here, so that a node can hold a graph and a graph has nodes without importing each other. */
  readonly walkNode: (run: Run, place: Place, node: Node, values: Values) => Walk<End>;
  readonly walkGraph: (run: Run, place: Place, workflow: CompiledWorkflow, inputs: Literals) => Walk<End>;
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

/** The definitions of a closure, read once. */
export const libraryOf = (closure: CompiledWorkflowClosure): Library => {
  const library = libraries.get(closure) ?? readLibrary(closure);
  libraries.set(closure, library);
  return library;
};
