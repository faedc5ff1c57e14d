import { create } from '@bufbuild/protobuf';
import { WorkflowExecution_Phase as Phase } from '../../proto/gen/platformidl/core/execution_pb.js';
import {
  type WorkflowExecutionIdentifier,
  WorkflowExecutionIdentifierSchema,
} from '../../proto/gen/platformidl/core/identifier_pb.js';
import { type WorkLaunch, type WorkLease } from '../../proto/gen/platformidl/eventlog/engine_work_pb.js';
import { type Aim } from './decide.js';

/** One execution that the bridge looks after. */
export type Tended = {
  readonly id: WorkflowExecutionIdentifier;
  /** The launch; absent for an object that an earlier process of the bridge has left, and that is to be removed. */
  readonly work?: WorkLaunch;
  lease?: WorkLease;
  /** The cluster in which its object stands, or is to be made. */
  cluster: string;
  aim: Aim;
  /** `sent`: the control plane has not answered yet. */
  accepted: 'no' | 'sent' | 'yes';
  /** The object of a finished execution stands until then, in milliseconds since 1970. */
  keptUntilMs: number;
};

export const keyOf = ({
  project,
  domain,
  name,
}: Pick<WorkflowExecutionIdentifier, 'project' | 'domain' | 'name'>): string => `${project}/${domain}/${name}`;

export const identifierOf = (key: string): WorkflowExecutionIdentifier => {
  const [project = '', domain = '', name = ''] = key.split('/');
  return create(WorkflowExecutionIdentifierSchema, { project, domain, name });
};

/** True when an engine has reported something of the execution. */
export const isStarted = (work: WorkLaunch | undefined): boolean => {
  const { phase = Phase.UNDEFINED, nodes = [] } = work?.progress ?? {};
  return nodes.length > 0 || phase !== Phase.UNDEFINED;
};

/** A launch that has come with its lease. */
export const tendedOf = (work: WorkLaunch, lease: WorkLease, id: WorkflowExecutionIdentifier): Tended => ({
  id,
  work,
  lease,
  cluster: '',
  aim: work.abort === undefined ? 'run' : 'abort',
  accepted: 'no',
  keptUntilMs: 0,
});
