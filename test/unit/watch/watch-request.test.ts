import { create } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';

import { subjectOf } from '../../../projections/execution-watch/watch-request.js';
import { WatchRequestSchema } from '../../../proto/gen/platformidl/eventlog/watch_pb.js';

const execution = { project: 'flytesnacks', domain: 'development', name: 'a1b2' };

it.each<[string, { filters?: string; labels?: string[] }]>([
  ['filters', { filters: 'eq(phase,FAILED)' }],
  ['labels', { labels: ['team=a'] }],
])('a watch of one execution with %s is refused with the name of this field', (field, given) => {
  const request = create(WatchRequestSchema, { ...execution, ...given });
  expect(() => subjectOf(request)).toThrow(`invalid value for ${field}: ${field} do not apply`);
});
