import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { RpcError } from '../../../services/kernel/rpc.js';
import { againEntries, fixtureFolders, invalidEntries } from '../../support/requests/fixtures.js';
import { openRegistry, type Registry } from '../../support/streams/registry.js';

const REGISTRATIONS = new Set(['task', 'workflow', 'launch_plan', 'launch_plan_update']);

const refusalOf = async (answer: Promise<unknown>): Promise<RpcError> => {
  const error: unknown = await answer.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(RpcError);
  return error as RpcError;
};

/** Makes field names comparable: without underscores, in lower case. */
const plain = (text: string): string => text.replaceAll('_', '').toLowerCase();

describe('the registrations of the fixtures', () => {
  let registry: Registry;

  beforeAll(async () => {
    registry = await openRegistry();
    for (const { entries } of fixtureFolders())
      for (const { kind, method, bytes } of entries) if (REGISTRATIONS.has(kind)) await registry.send(method, bytes);
  });
  afterAll(() => registry.close());

  it('of tasks, workflows and launch plans are one event each, whose type ends in Registered', async () => {
    const sent = fixtureFolders().flatMap(({ entries }) => entries.filter(({ kind }) => REGISTRATIONS.has(kind)));
    const types = (await registry.events()).map(({ type }) => type);
    expect(types.filter((type) => type.endsWith('Registered'))).toHaveLength(
      1 + sent.filter(({ kind }) => kind !== 'launch_plan_update').length, // and that of the project
    );
  });

  it.each(againEntries())(
    'are refused as identical when they are sent again: $path',
    async ({ method, bytes, expect: code }) => {
      const before = await registry.store.head();
      const refusal = await refusalOf(registry.send(method, bytes));
      expect([refusal.code, refusal.message]).toEqual([code, expect.stringContaining('identical')]);
      expect(await registry.store.head()).toBe(before);
    },
  );

  const invalid = invalidEntries().filter(({ method }) => /^Create(Task|Workflow|LaunchPlan)$/u.test(method));

  it.each(invalid)('are refused when invalid: $name', async ({ method, bytes, expect: code, textNames = '' }) => {
    const before = await registry.store.head();
    const refusal = await refusalOf(registry.send(method, bytes));
    expect(refusal.code, refusal.message).toBe(code);
    const refusalText = plain(`${refusal.message} ${JSON.stringify(refusal.details.map(({ message }) => message))}`);
    for (const word of textNames.split(' ')) expect(refusalText).toContain(plain(word));
    expect(await registry.store.head()).toBe(before);
  });
});
