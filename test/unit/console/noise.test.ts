import { expect, it } from 'vitest';

import { isNoise } from '../../../console/execution/compare/noise.js';

it.each([
  '/closure/startedAt',
  '/closure/workflowId/id/name',
  '/closure/deckUri',
  '/closure/targetMetadata/workflowNodeMetadata/executionId/name',
  '/closure/metadata/externalResources/0/externalId',
  '/closure/metadata/generatedName',
  '/inputs/data/scalar/blob/uri',
  '/inputs/data/offloadedMetadata/uri',
  '/inputs/all/collection/literals/0/scalar/structuredDataset/uri',
  '/closure/outputData/literals/o0/scalar/blob/uri',
])('a comparison of executions leaves out the field %s: an id, a time or an address', (path) => {
  expect(isNoise(path)).toBe(true);
});

it.each([
  '/closure/phase',
  '/inputs/id/scalar/primitive/integer',
  '/inputs/token_count/scalar/primitive/integer',
  '/inputs/config/scalar/generic/startAt',
  '/closure/outputData/literals/id/scalar/primitive/integer',
  '/closure/outputData/literals/o0/scalar/generic/startAt',
  '/spec/labels/values/id',
  '/spec/securityContext/tokens/0/name',
  '/closure/customInfo/job/id',
  '/closure/metadata/externalResources/0/customInfo/job/id',
  '/inputs/config/scalar/generic/blob/uri',
])('a comparison of executions shows a difference in the field %s', (path) => {
  expect(isNoise(path)).toBe(false);
});
