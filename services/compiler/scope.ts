import type { Identifier } from '../../proto/gen/platformidl/core/identifier_pb.js';
import type { ParameterMap, TypedInterface, VariableMap } from '../../proto/gen/platformidl/core/interface_pb.js';
import type { BindingData } from '../../proto/gen/platformidl/core/literals_pb.js';
import type { LiteralType } from '../../proto/gen/platformidl/core/types_pb.js';
import type { WorkflowTemplate } from '../../proto/gen/platformidl/core/workflow_pb.js';
import type { Problem, Report } from './compile-error.js';
import { type Types, typesOf } from './types.js';

export type Interface = { readonly inputs: Types; readonly outputs: Types };

export const interfaceOf = (typed: TypedInterface | undefined): Interface => ({
  inputs: typesOf(typed?.inputs),
  outputs: typesOf(typed?.outputs),
});

/** What a launch plan takes and gives. The closure of a registered one has this shape. */
export type LaunchPlanInterface = {
  readonly expectedInputs?: ParameterMap | undefined;
  readonly expectedOutputs?: VariableMap | undefined;
};

/** What the graphs of one compilation refer to. */
export type Library = {
  readonly task: (id: Identifier) => Interface | undefined;
  readonly launchPlan: (id: Identifier) => LaunchPlanInterface | undefined;
  readonly subWorkflow: (id: Identifier) => Interface | undefined;
};

/** One graph while it is checked. */
export type Scope = {
  readonly template: WorkflowTemplate;
  readonly library: Library;
  readonly inputs: Types;
  readonly nodeIds: ReadonlySet<string>;
  /** Of the nodes that were checked so far. A node that is not here although its id is known has a fault of its own. */
  readonly outputs: Map<string, Types>;
  /** Lists and maps that were held against a variant of a union: nested unions would try them again and again. */
  readonly tried: Map<BindingData, Map<LiteralType, readonly Problem[]>>;
  readonly report: Report;
};
