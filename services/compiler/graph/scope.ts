import type { Identifier } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import type { ParameterMap, TypedInterface, VariableMap } from '../../../proto/gen/platformidl/core/interface_pb.js';
import type { BindingData } from '../../../proto/gen/platformidl/core/literals_pb.js';
import type { LiteralType } from '../../../proto/gen/platformidl/core/types_pb.js';
import type { WorkflowTemplate } from '../../../proto/gen/platformidl/core/workflow_pb.js';
import type { CompileProblem, ReportProblem } from '../compile-error.js';
import { type Types, typesOf } from '../types/types.js';

export type Interface = { readonly inputs: Types; readonly outputs: Types };

export const interfaceOf = (typed: TypedInterface | undefined): Interface => ({
  inputs: typesOf(typed?.inputs),
  outputs: typesOf(typed?.outputs),
});

/** The interface of a launch plan. The closure of a registered one has this shape. */
export type LaunchPlanInterface = {
  readonly expectedInputs?: ParameterMap | undefined;
  readonly expectedOutputs?: VariableMap | undefined;
};

/** The interfaces that the graphs of one compilation refer to. */
export type Library = {
  readonly task: (id: Identifier) => Interface | undefined;
  readonly launchPlan: (id: Identifier) => LaunchPlanInterface | undefined;
  /**
   * The interface of a sub-workflow of the request, which may lack one; `undefined` when there is no such sub-workflow.
   */
  readonly subWorkflow: (id: Identifier) => Interface | 'without interface' | undefined;
};

/** The state of checking one graph. */
export type GraphScope = {
  readonly template: WorkflowTemplate;
  readonly library: Library;
  readonly inputs: Types;
  readonly nodeIds: ReadonlySet<string>;
  /**
   * The outputs of the nodes checked so far. A node in `nodeIds` that is absent here has an error, or waits for a node
   * that has one or for a cycle; the error is reported.
   */
  readonly outputs: Map<string, Types>;
  /**
   * The problems of lists and maps that were compared with a variant of a union; cached, because nested unions would
   * compare them many times.
   */
  readonly problemsByType: Map<BindingData, Map<LiteralType, readonly CompileProblem[]>>;
  readonly report: ReportProblem;
};
