import { type Timestamp } from '@bufbuild/protobuf/wkt';
import {
  type PluginOverride,
  type TaskResourceAttributes,
  type WorkflowExecutionConfig,
} from '../../proto/gen/platformidl/admin/matchable_resource_pb.js';
import { type CompiledWorkflowClosure } from '../../proto/gen/platformidl/core/compiler_pb.js';
import { type WorkflowExecutionIdentifier } from '../../proto/gen/platformidl/core/identifier_pb.js';
import { type LiteralMap } from '../../proto/gen/platformidl/core/literals_pb.js';

/** One launch, with everything that an engine needs to run it. */
export type Launch = {
  readonly id: WorkflowExecutionIdentifier;
  /** Distinguishes executions that have the same name, also in another cluster or log; not unique by itself. */
  readonly launchId: string;
  readonly closure: CompiledWorkflowClosure;
  /** A literal for each input of the workflow. */
  readonly inputs: LiteralMap;
  /** The resolved settings, merged from the request, the launch plan, the attributes and the defaults. */
  readonly config: WorkflowExecutionConfig;
  readonly pluginOverrides: readonly PluginOverride[];
  readonly taskResources?: TaskResourceAttributes | undefined;
  /** The execution whose finished nodes are reused. */
  readonly recovers?: WorkflowExecutionIdentifier | undefined;
  /** The time at which the control plane created the execution. */
  readonly acceptedAt?: Timestamp | undefined;
};
