import { create, fromBinary } from '@bufbuild/protobuf';
import { type Duration, type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { executions } from '../../../projections/executions/projection.js';
import type { ReadModel } from '../../../projections/runtime/read-model.js';
import type { StoredDocument } from '../../../projections/runtime/read-store.js';
import { nodeExecutions } from '../../../projections/node-executions/projection.js';
import { taskExecutions } from '../../../projections/task-executions/projection.js';
import { ExecutionSchema } from '../../../proto/gen/platformidl/admin/execution_pb.js';
import { NodeExecutionSchema } from '../../../proto/gen/platformidl/admin/node_execution_pb.js';
import { TaskExecutionSchema } from '../../../proto/gen/platformidl/admin/task_execution_pb.js';
import {
  NodeExecution_Phase,
  TaskExecution_Phase,
  WorkflowExecution_Phase,
} from '../../../proto/gen/platformidl/core/execution_pb.js';
import { ExecutionCreatedSchema } from '../../../proto/gen/platformidl/eventlog/execution_pb.js';
import type { RecordedEvent } from '../../../services/kernel/event.js';
import { eventSequences, type FinalPhase } from '../../support/requests/fixtures.js';
import { documentsAfter } from '../../support/views/run-views.js';
import { creation, openStream, reportOf } from '../execution/reports.js';

const entities = { CreateWorkflowEvent: 'workflow', CreateNodeEvent: 'node', CreateTaskEvent: 'task' } as const;

type Closure = { readonly startedAt?: Timestamp | undefined; readonly duration?: Duration | undefined };

const durationMs = ({ seconds, nanos }: Duration): number => Number(seconds) * 1_000 + nanos / 1e6;

/** Milliseconds since 1970; the message has a duration and no end, so an end is known only with a start. */
const times = ({ startedAt, duration }: Closure) => ({
  startedAt: startedAt && timestampMs(startedAt),
  endedAt: startedAt && duration && timestampMs(startedAt) + durationMs(duration),
});

const expected = ({ startedAt, endedAt }: FinalPhase) => ({
  startedAt: startedAt === undefined ? undefined : Date.parse(startedAt),
  endedAt: startedAt === undefined || endedAt === undefined ? undefined : Date.parse(endedAt),
});

describe.each(eventSequences())('the views of $name', ({ entries, final }) => {
  const commands = entries.map(({ method, bytes }) => reportOf(entities[method as keyof typeof entities], bytes));
  const record = async (): Promise<readonly RecordedEvent[]> => {
    const { id } = commands[0]!;
    const run = openStream({ ...creation, id, created: create(ExecutionCreatedSchema, { id }) });
    for (const command of commands) await run.refusal(command);
    return run.recorded;
  };

  it('show the final state of the execution', async () => {
    const [stored] = [...documentsAfter(executions, await record()).values()];
    const { closure, id } = fromBinary(ExecutionSchema, stored!.response);
    expect(WorkflowExecution_Phase[closure!.phase]).toBe(final.execution.phase);
    expect(id!.name).toBe(final.execution.name);
    expect(times(closure!)).toEqual(expected(final.execution));
  });

  it('show the final state of every node', async () => {
    const nodes = [...documentsAfter(nodeExecutions, await record()).values()].map(({ response, fields }) => {
      const { id, closure, metadata } = fromBinary(NodeExecutionSchema, response);
      const seen = {
        specNodeId: metadata!.specNodeId,
        parent: String(fields['parent']).split('/')[1] ?? null,
        phase: NodeExecution_Phase[closure!.phase],
        isParent: metadata!.isParentNode,
        isDynamic: metadata!.isDynamic,
        isArray: metadata!.isArray,
        ...times(closure!),
      };
      return [id!.nodeId, seen];
    });
    const wanted = Object.entries(final.nodes).map(([nodeId, node]) => {
      const { specNodeId, parent, phase, isParent = false, isDynamic = false, isArray = false } = node;
      return [nodeId, { specNodeId, parent, phase, isParent, isDynamic, isArray, ...expected(node) }];
    });
    expect(Object.fromEntries(nodes)).toEqual(Object.fromEntries(wanted));
  });

  it('show the final state of every attempt of a task', async () => {
    const attempts = [...documentsAfter(taskExecutions, await record()).values()].map(({ response }) => {
      const { id, closure } = fromBinary(TaskExecutionSchema, response);
      const key = `${id!.nodeExecutionId!.nodeId}/${id!.taskId!.name}/${id!.retryAttempt}`;
      return [key, { phase: TaskExecution_Phase[closure!.phase], ...times(closure!) }];
    });
    const wanted = Object.entries(final.tasks).map(([key, task]) => [key, { phase: task.phase, ...expected(task) }]);
    expect(Object.fromEntries(attempts)).toEqual(Object.fromEntries(wanted));
  });

  it.each<[string, ReadModel<never>]>([
    ['executions', executions as ReadModel<never>],
    ['node executions', nodeExecutions as ReadModel<never>],
    ['task executions', taskExecutions as ReadModel<never>],
  ])('of %s are the same however the events are batched', async (_, model) => {
    const events = await record();
    const bytes = (documents: ReadonlyMap<string, StoredDocument>) =>
      [...documents].map(([key, { fields, response, listElement, foldState }]) => [
        key,
        fields,
        response,
        listElement,
        foldState,
      ]);
    const whole = bytes(documentsAfter(model, events));
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 12 }), (size) => {
        expect(bytes(documentsAfter(model, events, size))).toEqual(whole);
      }),
      { numRuns: 4 },
    );
  });
});
