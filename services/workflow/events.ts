import { type WorkflowRegistered, WorkflowRegisteredSchema } from '../../proto/gen/platformidl/eventlog/workflow_pb.js';
import type { Version } from '../kernel/identifier.js';
import { eventShape, messageCodec } from '../kernel/encoding/message-codec.js';
import { type StreamName, streamName } from '../kernel/stream.js';

/** The category of the streams, `workflow-{project}:{domain}:{name}:{version}`. */
export const WORKFLOW_CATEGORY = 'workflow';

export type WorkflowEvent = { readonly type: 'WorkflowRegistered'; readonly data: WorkflowRegistered };

export const workflowStream = ({ project, domain, name, version }: Omit<Version, 'resourceType'>): StreamName =>
  streamName(WORKFLOW_CATEGORY, [project, domain, name, version]);

export const workflowCodec = messageCodec<WorkflowEvent>({
  WorkflowRegistered: eventShape(WorkflowRegisteredSchema, ({ compiled }) => [compiled]),
});
