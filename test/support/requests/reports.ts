import type { DescMessage, Message, MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';

import type {
  NodeExecutionEventRequestSchema,
  TaskExecutionEventRequestSchema,
  WorkflowExecutionEventRequestSchema,
} from '../../../proto/gen/platformidl/admin/event_pb.js';
import { ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import type {
  NodeExecutionEventSchema,
  TaskExecutionEventSchema,
  WorkflowExecutionEventSchema,
} from '../../../proto/gen/platformidl/event/event_pb.js';

/** Some fields of a message, and its phase. */
type Phased<Desc extends DescMessage> = Exclude<MessageInitShape<Desc>, Message> & { readonly phase: number };

/** The three parts of an execution's identifier. */
export type ExecutionId = { readonly project: string; readonly domain: string; readonly name: string };

/** The task of `01-hello`. */
export const HELLO_TASK = {
  resourceType: ResourceType.TASK,
  project: 'flytesnacks',
  domain: 'development',
  name: 'hello.greet',
  version: 'v1',
};

/** An engine's timestamp, `count` seconds after a fixed start. */
export const second = (count: number) => timestampFromMs(Date.UTC(2026, 0, 1) + count * 1000);

/** An engine's report of an execution; by default, it occurs at the second that equals the number of its phase. */
export const workflowReport = (
  executionId: ExecutionId,
  event: Phased<typeof WorkflowExecutionEventSchema>,
): MessageInitShape<typeof WorkflowExecutionEventRequestSchema> => ({
  event: { executionId, occurredAt: second(event.phase), ...event },
});

/** An engine's report of a node. */
export const nodeReport = (
  executionId: ExecutionId,
  nodeId: string,
  event: Phased<typeof NodeExecutionEventSchema>,
): MessageInitShape<typeof NodeExecutionEventRequestSchema> => ({
  event: {
    id: { executionId, nodeId },
    specNodeId: nodeId,
    eventVersion: 1,
    occurredAt: second(event.phase),
    ...event,
  },
});

/** An engine's report of an attempt of a node's task. */
export const taskReport = (
  executionId: ExecutionId,
  nodeId: string,
  event: Phased<typeof TaskExecutionEventSchema>,
): MessageInitShape<typeof TaskExecutionEventRequestSchema> => ({
  event: {
    parentNodeExecutionId: { executionId, nodeId },
    taskId: HELLO_TASK,
    taskType: 'python-task',
    occurredAt: second(event.phase),
    ...event,
  },
});
