import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * The compiled test files that take half a minute or more, the longest first. If one of them were the last file to
 * begin, it would run alone while the other workers wait.
 */
export const LONG: readonly string[] = [
  'console/stories',
  'integration/keycloak/keycloak',
  'integration/kafka-process',
  'integration/kafka-export',
  'e2e/list-costs',
  'integration/payloads-gc.s3',
  'e2e/roles-kill',
  'e2e/command-line-serving',
  'e2e/engine-feed-kill',
  'e2e/log-copy',
  'e2e/command-line',
  'e2e/eventstore-recording',
  'e2e/kill',
  'integration/views-rebuild.mongo',
  'e2e/conformance/hostile',
  'integration/startup-faults',
  'e2e/startup-faults',
  'integration/stopped-servers',
  'e2e/roles',
  'e2e/schedules',
  'e2e/fixtures',
  'e2e/sandbox',
  'integration/audit.mongo',
  'e2e/command-line-people',
  'e2e/authorization-server-kill',
  'console/signing-in',
  'e2e/tls',
  'e2e/reads-runs',
  'e2e/large-launch-plans',
  'e2e/bad-input-bytes',
].map((name) => `dist/test/${name}.test.js`);

/** The place of a file in {@link LONG}; for all other files, the place after its end. */
const placeOf = ({ moduleId }: TestSpecification): number => {
  const place = LONG.findIndex((file) => moduleId.endsWith(`/${file}`));
  return place === -1 ? LONG.length : place;
};

/** Begins with the long files, in their order; the others keep the order of the test runner. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => placeOf(a) - placeOf(b));
  }
}
