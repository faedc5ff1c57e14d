import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';

import { operationText, segmentsOf, totalsOf } from '../../../console/execution/nodes/time-spent.js';
import { SpanSchema } from '../../../proto/gen/platformidl/core/metrics_pb.js';

type Init = MessageInitShape<typeof SpanSchema>;

const operation = (name: string, from: number, to: number): Init => ({
  id: { case: 'operationId', value: name },
  startTime: timestampFromMs(from),
  endTime: timestampFromMs(to),
});

const node = (nodeId: string, spans: Init[]): Init => ({ id: { case: 'nodeId', value: { nodeId } }, spans });

const span = create(SpanSchema, {
  id: { case: 'workflowId', value: { name: 'e1' } },
  spans: [
    operation('WORKFLOW_SETUP', 0, 10),
    node('n0', [
      operation('NODE_SETUP', 10, 15),
      {
        id: { case: 'taskId', value: {} },
        spans: [operation('TASK_SETUP', 15, 20), operation('TASK_RUNTIME', 20, 120)],
      },
    ]),
    node('n1', [
      operation('NODE_TRANSITION', 120, 125),
      {
        id: { case: 'workflowId', value: { name: 'launched' } },
        spans: [node('n0', [operation('TASK_RUNTIME', 0, 99)])],
      },
    ]),
  ],
});

describe('where the time of an execution went', () => {
  const segments = segmentsOf(span);

  it('is known for each node, with the attempts of its task', () => {
    expect(segments.get('')).toMatchObject([{ operation: 'WORKFLOW_SETUP', spent: 'overhead' }]);
    expect(segments.get('n0')).toEqual([
      { operation: 'NODE_SETUP', from: 10, to: 15, spent: 'overhead' },
      { operation: 'TASK_SETUP', from: 15, to: 20, spent: 'overhead' },
      { operation: 'TASK_RUNTIME', from: 20, to: 120, spent: 'work' },
    ]);
  });

  it('does not mix the nodes of an execution that was launched by a node with its own', () => {
    expect(segments.get('n1')).toEqual([{ operation: 'NODE_TRANSITION', from: 120, to: 125, spent: 'waiting' }]);
  });

  it('is summed up by operation, the most first', () => {
    expect(totalsOf(segments).slice(0, 2)).toEqual([
      ['TASK_RUNTIME', 100],
      ['WORKFLOW_SETUP', 10],
    ]);
    expect(operationText('TASK_RUNTIME')).toBe('Task runtime');
  });
});
