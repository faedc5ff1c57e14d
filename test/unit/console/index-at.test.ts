import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';

import { indexAt, positionAt, positionTowards } from '../../../console/execution/life/index-at.js';
import { TransitionSchema } from '../../../proto/gen/platformidl/eventlog/history_pb.js';

const FIRST = Date.parse('2026-03-02T09:58:00Z');

/** Transitions at the positions 10, 20 and 30, one second after another. */
const life = [10n, 20n, 30n].map((position, index) =>
  create(TransitionSchema, { position, recordedAt: timestampFromMs(FIRST + index * 1_000) }),
);

describe('the transition that an execution is shown at', () => {
  it.each([
    ['', 2],
    ['5', 0],
    ['10', 0],
    ['29', 1],
    ['30', 2],
    ['31', 2],
    ['f3b0c442-98fc-1c14-9afb-f4c8996fb924.20', 1], // a position with the id of its log
    ['2026-03-02T09:58:01.5+00:00', 1],
    ['2026-03-02T09:57:00Z', 0],
    ['2026-03-02T09:58:01Z', 1],
    ['2026-03-02T09:58:01.999Z', 1],
    ['2026-03-02T10:00:00Z', 2],
  ])('as of “%s” is that of index %i', (asOf, index) => {
    expect(indexAt(life, asOf)).toBe(index);
  });

  it('is none when the execution has no transitions', () => {
    expect(indexAt([], '10')).toBe(-1);
  });
});

describe('a step through the life of an execution', () => {
  /** The last event, at position 30, has three transitions. */
  const ended = [...life, ...[30n, 30n].map((position) => create(TransitionSchema, { position }))];

  it.each<[title: string, fromIndex: number, toIndex: number, position: bigint]>([
    ['to the next event', 0, 1, 20n],
    ['to the event before', 1, 0, 10n],
    ['back out of an event with many transitions', 4, 3, 20n],
    ['back in the first event', 0, 0, 10n],
    ['far back', 4, 0, 10n],
    ['on from the last transition, as the slider of a life with one transition offers it', 4, 5, 30n],
  ])('%s', (_name, from, to, position) => {
    expect(positionTowards(ended, from, to)).toBe(position);
  });
});

it.each([
  ['a transition', 1, 20n],
  ['an index after the last transition', 3, 30n],
] as const)('the position of %s is that of its event, or of the last one', (_name, index, position) => {
  expect(positionAt(life, index)).toBe(position);
});
