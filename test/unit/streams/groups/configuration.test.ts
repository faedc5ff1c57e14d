import { describe, expect, it } from 'vitest';

import {
  type ConfiguredGroup,
  decideGroups,
  evolveGroups,
  type GroupEvent,
  groupEventIn,
  groupEventJson,
  type Groups,
} from '../../../../services/streams/eventstore/groups/configuration.js';

const SETTINGS: ConfiguredGroup['settings'] = {
  ...{ resolveLinks: false, extraStatistics: false, messageTimeoutMs: 30_000, maxRetryCount: 10 },
  ...{ checkpointAfterMs: 1_000, minCheckpointCount: 1, maxCheckpointCount: 10, maxSubscriberCount: 0 },
  ...{ liveBufferSize: 100, readBatchSize: 10, historyBufferSize: 100, strategy: 'RoundRobin' },
};

const START: ConfiguredGroup['start'] = { asked: 'start', after: -1n };

const creating = (source: string, group: string): GroupEvent => ({
  type: 'PersistentSubscriptionCreated',
  group: {
    source,
    group,
    id: `${source} ${group}`,
    settings: SETTINGS,
    start: START,
    filter: undefined,
    parkedFrom: 0n,
  },
});

it('an event of the configuration of groups is read as it was recorded', () => {
  const event = { type: 'PersistentSubscriptionDeleted', group: { source: 'counted-1', group: 'g' } } as const;
  expect(groupEventIn(event.type, groupEventJson(event))).toEqual(event);
});

it('a group is recorded as earlier releases recorded it, and read from what they have recorded', () => {
  const recorded =
    '{"source":"$all","group":"g","id":"i","settings":{"resolveLinks":false,"extraStatistics":false,' +
    '"messageTimeoutMs":30000,"maxRetryCount":10,"checkpointAfterMs":1000,"minCheckpointCount":1,' +
    '"maxCheckpointCount":10,"maxSubscriberCount":0,"liveBufferSize":100,"readBatchSize":10,"historyBufferSize":100,' +
    '"strategy":"RoundRobin"},"start":{"asked":"bigint:5","after":"bigint:4"},' +
    '"filter":{"on":"type","regex":"","prefixes":["Execution"]},"parkedFrom":"bigint:0"}';
  const event: GroupEvent = {
    type: 'PersistentSubscriptionCreated',
    group: {
      ...{ source: '$all', group: 'g', id: 'i', settings: SETTINGS, start: { asked: 5n, after: 4n } },
      ...{ filter: { on: 'type', regex: '', prefixes: ['Execution'] }, parkedFrom: 0n },
    },
  };
  expect(groupEventIn(event.type, recorded)).toEqual(event);
  expect(groupEventJson(event)).toBe(recorded);
});

it('an event of another type is ignored, whatever its data is', () => {
  expect(groupEventIn('Unknown', 'no JSON')).toBeUndefined();
});

// The key of a group is its source and its name, with `::` between.
describe('groups whose names have the same key', () => {
  const groups: Groups = evolveGroups(new Map(), creating('orders', 'paid::workers'));
  const other = { source: 'orders::paid', group: 'workers' };

  it.each<GroupEvent>([
    { type: 'PersistentSubscriptionUpdated', group: { ...other, settings: SETTINGS, start: START } },
    { type: 'PersistentSubscriptionDeleted', group: other },
  ])('leave each other alone: $type', (event) => {
    const exception = 'persistent-subscription-does-not-exist';
    expect(decideGroups(groups, event)?.trailers).toMatchObject({ exception });
  });

  it('cannot both exist', () => {
    const exception = 'persistent-subscription-exists';
    expect(decideGroups(groups, creating(other.source, other.group))?.trailers).toMatchObject({ exception });
  });

  it('can be deleted by their own names', () => {
    const group = { source: 'orders', group: 'paid::workers' };
    expect(decideGroups(groups, { type: 'PersistentSubscriptionDeleted', group })).toBeUndefined();
  });
});
