import { create } from '@bufbuild/protobuf';

import { TaskRegisteredSchema } from '../../proto/gen/platformidl/eventlog/task_pb.js';
import type { Aggregate, Decider } from '../kernel/aggregate.js';
import { isSameDigest } from '../kernel/encoding/digest.js';
import type { RegisterTask } from './commands.js';
import { TASK_CATEGORY, taskCodec, type TaskEvent } from './events.js';
import { evolveTask, initialTask, type TaskState } from './state.js';

export type TaskRefusal = { readonly kind: 'exists-identical' | 'exists-different' };

const registered = ({ id, compiled, digest, taskType, description }: RegisterTask): TaskEvent => ({
  type: 'TaskRegistered',
  data: create(TaskRegisteredSchema, {
    id,
    compiled: { content: { case: 'inline', value: compiled } },
    digest,
    taskType,
    ...(description && { description }),
  }),
});

export const taskDecider: Decider<TaskState, RegisterTask, TaskEvent, TaskRefusal> = {
  initial: initialTask,
  evolve: evolveTask,
  decide: ({ digest }, command) => {
    if (digest === undefined) return { kind: 'accepted', events: [registered(command)] };
    const kind = isSameDigest(digest, command.digest) ? 'exists-identical' : 'exists-different';
    return { kind: 'refused', refusal: { kind } };
  },
};

const STATE_BYTES = 320;

export const taskAggregate: Aggregate<TaskState, RegisterTask, TaskEvent, TaskRefusal> = {
  category: TASK_CATEGORY,
  decider: taskDecider,
  codec: taskCodec,
  payloadScope: ({ id }) => `definitions/${id.project}`,
  isPermanentRefusal: () => true,
  sizeOf: () => STATE_BYTES,
  isOver: ({ digest }) => digest !== undefined,
};
