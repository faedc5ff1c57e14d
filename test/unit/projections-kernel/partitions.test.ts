import { describe, expect, it } from 'vitest';

import {
  highestOf,
  leasesName,
  lowestOf,
  viewPartitionOf,
  PARTITIONS,
} from '../../../projections/runtime/partitions.js';
import { KINDS } from '../../../services/kernel/identifier.js';
import type { StreamName } from '../../../services/kernel/stream.js';
import { launchPlanStream } from '../../../services/launch-plan/events.js';
import { slotsStream } from '../../../services/launch-plan-slots/events.js';
import { namedEntityStream } from '../../../services/named-entity/events.js';
import { taskStream } from '../../../services/task/events.js';
import { workflowStream } from '../../../services/workflow/events.js';

/** The streams of all definitions with this name: of tasks, workflows, launch plans, slots and named entities. */
const streamsOf = (name: string): readonly StreamName[] => {
  const entity = { project: 'flytesnacks', domain: 'development', name };
  const versions = ['v1', 'v'.repeat(500)];
  return [
    ...versions.map((version) => taskStream({ ...entity, version })),
    ...versions.map((version) => workflowStream({ ...entity, version })),
    launchPlanStream(entity),
    slotsStream(entity),
    ...[...KINDS.values()].map((kind) => namedEntityStream({ ...entity, kind })),
  ];
};

/** With a long name or version, the name of a stream would exceed 512 bytes, and has a hash in it. */
const NAMES = ['hello.hello', 'a:b', '~', 'ü'.repeat(60), ...[390, 420, 440, 500, 600].map((size) => 'x'.repeat(size))];

describe('the partition of a stream', () => {
  it.each(NAMES.map((name) => ({ name })))(
    'is the same for all streams of definitions with the name $name',
    ({ name }) => {
      expect(new Set(streamsOf(name).map(viewPartitionOf)).size).toBe(1);
    },
  );

  it('is each of the eight for about 1,000 of 8,000 executions', () => {
    const counts = PARTITIONS.map(() => 0);
    for (let at = 0; at < 8_000; at += 1) {
      const partition = viewPartitionOf(`execution-flytesnacks:development:a${at.toString(36)}` as StreamName);
      counts[partition] = (counts[partition] ?? 0) + 1;
    }
    for (const count of counts) expect(Math.abs(count - 1_000)).toBeLessThan(200);
  });

  it('never changes, because stores are divided by it', () => {
    const names = ['execution-p:d:a', 'task-p:d:t:v1', 'project-p', 'launchPlan-p:d:~abc', 'namedEntity-p:d:TASK:t'];
    expect(names.map((name) => viewPartitionOf(name as StreamName))).toEqual([4, 3, 4, 4, 3]);
    // With `p:d:`, the routing key then has 400 bytes, the most that one may have, and 401.
    const long = [396, 397].map((length) => viewPartitionOf(`task-p:d:${'a'.repeat(length)}:v1` as StreamName));
    expect(long).toEqual([2, 4]);
  });
});

describe('the lowest position', () => {
  it('is the least of several positions, and above every position when there are none', () => {
    expect(lowestOf([5n, 3n, 4n])).toBe(3n);
    expect(lowestOf([])).toBeGreaterThan(2n ** 62n);
  });
});

describe('the highest position', () => {
  it('is the greatest of several positions, and 0 when there are none', () => {
    expect(highestOf([3n, 5n, 4n])).toBe(5n);
    expect(highestOf([])).toBe(0n);
  });
});

describe('the name of the leases on the views', () => {
  const nameWith = (version: number, build?: number): string =>
    leasesName({ models: [{ collection: { name: 'things', version } }] as never }, build);

  it('is the same for processes with the same views, and another for another version or build', () => {
    expect(nameWith(1)).toBe(nameWith(1, 0));
    expect(new Set([nameWith(1), nameWith(2), nameWith(1, 1), nameWith(2, 1)]).size).toBe(4);
    expect(nameWith(1, 2)).toMatch(/^views [0-9a-f]{8}\.2$/u);
  });
});
