import { expect, it } from 'vitest';

import { groupEventIn, groupEventJson } from '../../../../services/streams/eventstore/groups/configuration.js';

it('an event of the configuration of groups is read as it was recorded', () => {
  const event = { type: 'PersistentSubscriptionDeleted', group: { source: 'counted-1', group: 'g' } } as const;
  expect(groupEventIn(event.type, groupEventJson(event))).toEqual(event);
});

it('an event of another type is ignored, whatever its data is', () => {
  expect(groupEventIn('Unknown', 'no JSON')).toBeUndefined();
});
