import { create } from '@bufbuild/protobuf';
import { WorkflowExecution_Phase as Phase } from '../../proto/gen/platformidl/core/execution_pb.js';
import {
  type WorkflowExecutionIdentifier,
  WorkflowExecutionIdentifierSchema,
} from '../../proto/gen/platformidl/core/identifier_pb.js';
import { type WorkLaunch, type WorkLease } from '../../proto/gen/platformidl/eventlog/engine_work_pb.js';
import { type DesiredState } from './decide.js';

/** One execution that the bridge manages. */
export type ManagedExecution = {
  readonly id: WorkflowExecutionIdentifier;
  /**
   * The launch; absent, as the lease, for an object that this process has no lease for: an earlier process has made it,
   * or this one has lost the lease.
   */
  readonly work?: WorkLaunch;
  lease?: WorkLease;
  /** The name of the cluster that has or will have its object; empty until one is chosen. */
  cluster: string;
  aim: DesiredState;
  /** The acceptance of the launch. `sent`: the control plane has not answered yet. */
  accepted: 'no' | 'sent' | 'yes';
  /** Time until which the object of a finished execution is kept, in milliseconds since the start of the process. */
  keptUntilMs: number;
};

/** The identifier with the key `project/domain/name`. */
export const executionIdentifier = (key: string): WorkflowExecutionIdentifier => {
  const [project = '', domain = '', name = ''] = key.split('/');
  return create(WorkflowExecutionIdentifierSchema, { project, domain, name });
};

/** The phases of an execution that no engine has begun. The control plane sets QUEUED; engines may report it too. */
const INITIAL: ReadonlySet<Phase> = new Set([Phase.UNDEFINED, Phase.QUEUED]);

/** True when an engine has begun the execution. */
export const isStarted = (work: WorkLaunch | undefined): boolean => {
  const { phase = Phase.UNDEFINED, nodes = [] } = work?.progress ?? {};
  return nodes.length > 0 || !INITIAL.has(phase);
};

/** Makes the entry of a launch that has arrived with its lease. */
export const managedExecutionOf = (
  work: WorkLaunch,
  lease: WorkLease,
  id: WorkflowExecutionIdentifier,
): ManagedExecution => ({
  id,
  work,
  lease,
  cluster: '',
  aim: work.abort === undefined ? 'run' : 'abort',
  accepted: 'no',
  keptUntilMs: 0,
});
