import type { WorkflowExecutionConfig } from '../../proto/gen/platformidl/admin/matchable_resource_pb.js';
import type { Call, RpcError } from '../kernel/rpc.js';
import type { AttributesState } from './state.js';

/** Reads of projects that attributes need. */
export interface Projects {
  /** The error for a project or domain that does not exist, or a project that is not active; otherwise `undefined`. */
  check(project: string, domain: string): Promise<RpcError | undefined>;
  /** The state of a project, whatever the domain. */
  lifecycle(project: string): Promise<'active' | 'inactive' | 'unknown-project'>;
}

/** The recorded attributes, as fresh as the call asks. The states are shared: callers must not change them. */
export interface RecordedAttributes {
  ofProject(call: Call, project: string): Promise<AttributesState>;
  ofAll(call: Call): Promise<readonly AttributesState[]>;
}

/**
 * Fills what a recorded configuration does not set with the platform's defaults. Without a recorded one, all of it is
 * the platform's.
 */
export type WithPlatform = (stored: WorkflowExecutionConfig | undefined) => WorkflowExecutionConfig;
