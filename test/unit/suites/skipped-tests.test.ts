import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { skippedTests } from '../../support/runner/skipped-tests.js';

/** The compiled tests are in `dist/test`. */
const E2E = join(import.meta.dirname, '../../e2e');
const fileOf = (name: string): string => join(E2E, `${name}.test.js`);
const sourceOf = (name: string): string => readFileSync(fileOf(name), 'utf8');

const onMongodb = Object.keys(skippedTests({ FLIGHTLOG_TEST_READ_STORE: 'mongodb' }));
const apart = Object.keys(skippedTests({ FLIGHTLOG_TEST_ROLES: 'apart' }));

/** Matches the import of a helper that starts servers on the stores that the variables name. */
const STARTS = /support\/processes\/(?:control-plane|server-process|two-processes|roles)\.js/u;
const STARTS_A_LOG = /\b(?:startLogServer|startTwoProcesses|startRoleProcesses|startEventstoreCluster)\(/u;

describe('the end-to-end tests that are left out with MongoDB or with one process for each role', () => {
  it('are none by default', () => {
    expect(skippedTests({})).toEqual({});
  });

  it.each([...onMongodb, ...apart])('are files that exist: %s', (name) => {
    expect(existsSync(fileOf(name))).toBe(true);
  });

  // `roles-kill` starts servers on MongoDB, too, in tests of its own.
  it.each(onMongodb.filter((name) => name !== 'roles-kill'))('start no server on MongoDB: %s', (name) => {
    expect(sourceOf(name)).not.toMatch(STARTS);
  });

  it.each(apart)('start their processes and their log themselves: %s', (name) => {
    expect(sourceOf(name)).not.toMatch(/\bstartControlPlane\(/u);
    expect(sourceOf(name)).toMatch(STARTS_A_LOG);
  });
});
