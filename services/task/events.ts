import { type TaskRegistered, TaskRegisteredSchema } from '../../proto/gen/platformidl/eventlog/task_pb.js';
import type { Version } from '../kernel/identifier.js';
import { eventShape, messageCodec } from '../kernel/encoding/message-codec.js';
import { type StreamName, streamName } from '../kernel/stream.js';

/** The category of the streams, `task-{project}:{domain}:{name}:{version}`. */
export const TASK_CATEGORY = 'task';

export type TaskEvent = { readonly type: 'TaskRegistered'; readonly data: TaskRegistered };

export const taskStream = ({ project, domain, name, version }: Omit<Version, 'resourceType'>): StreamName =>
  streamName(TASK_CATEGORY, [project, domain, name, version]);

export const taskCodec = messageCodec<TaskEvent>({
  TaskRegistered: eventShape(TaskRegisteredSchema, ({ compiled }) => [compiled]),
});
