import type { WorkflowExecutionConfig } from '../../proto/gen/platformidl/admin/matchable_resource_pb.js';
import type { Call, RpcError } from '../kernel/rpc.js';
import type { AttributesState } from './state.js';

/** The projects, as far as attributes ask. */
export interface Projects {
  /** What stands against writing there, ready to be thrown; `undefined` when nothing does. */
  check(project: string, domain: string): Promise<RpcError | undefined>;
  /** The state of a project, whatever the domain. */
  lifecycle(project: string): Promise<'active' | 'inactive' | 'unknown-project'>;
}

/** What is recorded, as fresh as the call asks. States are shared: never changed by who asks. */
export interface RecordedAttributes {
  ofProject(call: Call, project: string): Promise<AttributesState>;
  ofAll(call: Call): Promise<readonly AttributesState[]>;
}

/** What the configuration of the platform adds to what is recorded for a project. */
export type WithPlatform = (stored: WorkflowExecutionConfig | undefined) => WorkflowExecutionConfig;
