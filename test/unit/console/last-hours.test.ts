import { create } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';

import { COUNTED, countFilters, countIn, FAILED, filtersOf, hoursOf } from '../../../console/home/last-hours.js';
import { WorkflowExecution_Phase as Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import { ExecutionCountsSchema } from '../../../proto/gen/platformidl/eventlog/execution_count_service_pb.js';

const NOON = Date.UTC(2026, 2, 1, 12);

it('the period is 1, 6 or 24 hours, and 24 when the address has another one or none', () => {
  expect(['1', '6', '24', '7', '', undefined].map(hoursOf)).toEqual([1, 6, 24, 24, 24, 24]);
});

it('the filters find executions that failed within the period, and all that run', () => {
  expect(filtersOf(FAILED, 6, NOON)).toBe(
    'value_in(phase,FAILED;TIMED_OUT;FAILING)+gte(updated_at,2026-03-01T06:00:00.000Z)',
  );
  expect(filtersOf(COUNTED[0]!, 6, NOON)).toBe('value_in(phase,RUNNING;SUCCEEDING)');
});

it('all numbers of present executions have one filter, and all numbers of ended ones another', () => {
  expect(countFilters('now', 1, NOON)).toBe('value_in(phase,RUNNING;SUCCEEDING;QUEUED)');
  expect(countFilters('ended', 1, NOON)).toBe(
    'value_in(phase,FAILED;TIMED_OUT;FAILING;SUCCEEDED)+gte(updated_at,2026-03-01T11:00:00.000Z)',
  );
});

it('a number is the sum of the counts of its phases', () => {
  const counts = create(ExecutionCountsSchema, {
    phases: [
      { phase: Phase.FAILED, count: 2n },
      { phase: Phase.TIMED_OUT, count: 1n },
      { phase: Phase.SUCCEEDED, count: 5n },
    ],
  });
  expect(COUNTED.map((counted) => countIn(counts, counted))).toEqual([0, 0, 3, 5]);
});
