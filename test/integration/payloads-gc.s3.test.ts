import { setTimeout } from 'node:timers/promises';
import { beforeAll, describe } from 'vitest';
import { s3PayloadObjects } from '../../services/store/payloads/s3-payload-objects.js';
import { s3PayloadStore } from '../../services/store/payloads/s3-payload-store.js';
import { makeBucket, newS3Location, s3Setting, s3Url } from '../support/servers/s3-server.js';
import { garbageStory } from '../support/garbage-story.js';

/**
 * The age from which payloads are removed: some seconds, because an object store gives times in whole seconds. The
 * tests wait for it, because a client cannot set the time of an object.
 */
const AGE_MS = 4_000;

describe.skipIf(s3Url === undefined)('with an S3 server', () => {
  beforeAll(makeBucket);

  garbageStory('a bucket', () => {
    const location = newS3Location();
    return {
      setting: s3Setting(location),
      ageMs: AGE_MS,
      runs: 2,
      rounds: 3,
      open: () => ({ store: s3PayloadStore(location), objects: s3PayloadObjects(location) }),
      makeOld: () => setTimeout(AGE_MS + 1_000),
    };
  });
});
