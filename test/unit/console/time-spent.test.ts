import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';

import { segmentsOf, totalsOf } from '../../../console/execution/nodes/time-spent.js';
import { capitalEnumText } from '../../../console/look/enum-text.js';
import { SpanSchema } from '../../../proto/gen/platformidl/core/metrics_pb.js';

type Init = MessageInitShape<typeof SpanSchema>;

/** Times are in milliseconds. */
const operation = (name: string, from: number, to: number): Init => ({
  id: { case: 'operationId', value: name },
  startTime: timestampFromMs(from),
  endTime: timestampFromMs(to),
});

const node = (nodeId: string, spans: Init[], range?: readonly [from: number, to: number]): Init => ({
  id: { case: 'nodeId', value: { nodeId } },
  ...(range && { startTime: timestampFromMs(range[0]), endTime: timestampFromMs(range[1]) }),
  spans,
});

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

describe('the time spent in an execution', () => {
  const segments = segmentsOf(span);

  it('is known for each node, with the attempts of its task', () => {
    expect(segments.get('')).toMatchObject([{ operation: 'WORKFLOW_SETUP', spent: 'overhead' }]);
    expect(segments.get('n0')).toEqual([
      { operation: 'NODE_SETUP', from: 10, to: 15, spent: 'overhead' },
      { operation: 'TASK_SETUP', from: 15, to: 20, spent: 'overhead' },
      { operation: 'TASK_RUNTIME', from: 20, to: 120, spent: 'work' },
    ]);
  });

  it('leaves out the nodes of an execution that one of its nodes has launched', () => {
    expect(segments.get('n1')).toEqual([{ operation: 'NODE_TRANSITION', from: 120, to: 125, spent: 'waiting' }]);
  });

  it('leaves out an operation that ends before its start, because two computers have different clocks', () => {
    const late = [operation('WORKFLOW_SETUP', 10, 4), operation('WORKFLOW_TEARDOWN', 20, 25)];
    expect(totalsOf(segmentsOf(create(SpanSchema, { spans: late })))).toEqual([['WORKFLOW_TEARDOWN', 5]]);
  });

  it('is inside a node while no operation of the node runs, and such time is left out of the sums', () => {
    const below = node('n2-0-n0', [operation('TASK_RUNTIME', 31, 90)], [30, 90]);
    const parent = node('n2', [operation('NODE_SETUP', 20, 30), below, operation('NODE_TEARDOWN', 95, 99)], [20, 99]);
    const map = node('n3', [operation('NODE_TRANSITION', 99, 105)], [105, 140]);
    const found = segmentsOf(create(SpanSchema, { spans: [parent, map] }));
    const inside = (id: string) => found.get(id)?.filter(({ spent }) => spent === 'inside');
    expect(inside('n2')).toEqual([{ operation: 'INSIDE_THE_NODE', from: 30, to: 95, spent: 'inside' }]);
    expect(inside('n2-0-n0')).toMatchObject([{ from: 30, to: 31 }]);
    expect(inside('n3')).toMatchObject([{ from: 105, to: 140 }]);
    expect(totalsOf(found).map(([name]) => name)).not.toContain('INSIDE_THE_NODE');
  });

  it('is summed up by operation, the largest sum first', () => {
    expect(totalsOf(segments).slice(0, 2)).toEqual([
      ['TASK_RUNTIME', 100],
      ['WORKFLOW_SETUP', 10],
    ]);
    expect(capitalEnumText('TASK_RUNTIME')).toBe('Task runtime');
  });
});
