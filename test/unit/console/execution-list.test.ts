import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import {
  type ExecutionList,
  filtersWithin,
  rangeOfRows,
  withPage,
  withRange,
} from '../../../console/executions/execution-list.js';
import { type Execution, ExecutionSchema } from '../../../proto/gen/platformidl/admin/execution_pb.js';

/** An execution that was created `ms` milliseconds after 1970, and some nanoseconds. */
const execution = (name: string, ms: number, nanos = 0): Execution =>
  create(ExecutionSchema, {
    id: { name },
    closure: { createdAt: { seconds: 0n, nanos: ms * 1_000_000 + nanos } },
  });

/** Executions, the newest first; each is named after the millisecond in which it was created. */
const [e5, e4, e3, e2, e1] = [5, 4, 3, 2, 1].map((ms) => execution(`e${ms}`, ms, 999_999)) as [
  Execution,
  Execution,
  Execution,
  Execution,
  Execution,
];

const list: ExecutionList = { executions: [e5, e4, e3, e2, e1], token: 'older' };

const namesIn = ({ executions }: ExecutionList): readonly string[] => executions.map(({ id }) => id!.name);

describe('the range of rows', () => {
  it('is of whole milliseconds, and includes its first and last row', () => {
    expect(rangeOfRows(list.executions, 1, 3)).toEqual({ from: 2, to: 5 });
  });

  it('includes all newer executions when it begins at the first row', () => {
    expect(rangeOfRows(list.executions, 0, 2)).toEqual({ from: 3 });
  });

  it('is added to the filters of the person', () => {
    expect(filtersWithin('eq(phase,FAILED)', { from: 2, to: 5 })).toBe(
      'eq(phase,FAILED)+gte(created_at,1970-01-01T00:00:00.002Z)+lt(created_at,1970-01-01T00:00:00.005Z)',
    );
    expect(filtersWithin('', {})).toBe('');
  });
});

describe('a list of executions', () => {
  const changed = execution('e3', 3, 999_999);

  it('has the executions that were read again in place of its own in the range', () => {
    const next = withRange(list, { from: 2, to: 5 }, { executions: [e4, changed], token: '' });
    expect(namesIn(next)).toEqual(['e5', 'e4', 'e3', 'e1']); // e2 no longer matches
    expect(next.executions[2]).toBe(changed);
    expect(next.token).toBe('older');
  });

  it('gets new executions at its beginning', () => {
    const next = withRange(list, { from: 4 }, { executions: [execution('e6', 6), e5, e4], token: '' });
    expect(namesIn(next)).toEqual(['e6', 'e5', 'e4', 'e3', 'e2', 'e1']);
  });

  it('is replaced when there are more new executions than were read', () => {
    const next = withRange(list, { from: 4 }, { executions: [execution('e9', 9), execution('e8', 8)], token: 'e7' });
    expect(namesIn(next)).toEqual(['e9', 'e8']);
    expect(next.token).toBe('e7');
  });

  it('grows by the page that was read with its own token, and by no other', () => {
    const page: ExecutionList = { executions: [execution('e0', 0)], token: '' };
    expect(namesIn(withPage(list, 'older', page))).toEqual(['e5', 'e4', 'e3', 'e2', 'e1', 'e0']);
    expect(withPage(list, 'of an earlier list', page)).toBe(list);
  });
});
