import { create, toBinary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import { matchingExecutions } from '../../../projections/executions/matching.js';
import type { Freshness } from '../../../projections/query/freshness.js';
import type { ReadStore, StoredDocument } from '../../../projections/runtime/read-store.js';
import { ExecutionSchema, ExecutionState } from '../../../proto/gen/platformidl/admin/execution_pb.js';
import { executionStream } from '../../../services/kernel/execution-id.js';

const SCOPE = { project: 'flytesnacks', domain: 'development' };

const documentOf = (name: string, phase: string): StoredDocument => ({
  key: executionStream({ ...SCOPE, name }),
  position: 7n,
  fields: { ...SCOPE, name, phase, state: ExecutionState.EXECUTION_ACTIVE },
  response: toBinary(ExecutionSchema, create(ExecutionSchema, { id: { ...SCOPE, name } })),
});

describe('the executions that a filter matches', () => {
  it('are without one that has changed since its page was found and matches no more', async () => {
    const found = ['a1', 'a2'].map((name) => documentOf(name, 'RUNNING'));
    const now = [documentOf('a1', 'SUCCEEDED'), documentOf('a2', 'RUNNING')];
    const store = {
      find: () => Promise.resolve({ elements: found.map(({ response }) => response) }),
      getMany: () => Promise.resolve(now),
    } as Partial<ReadStore> as ReadStore;
    const freshness = { waitForPrefix: () => Promise.resolve() } as Partial<Freshness> as Freshness;
    const filter = { ...SCOPE, filters: 'eq(phase,RUNNING)', labels: [] };
    const names: unknown[] = [];
    for await (const page of matchingExecutions({ store, freshness }, filter, {} as never))
      names.push(...page.map(({ fields }) => fields['name']));
    expect(names).toEqual(['a2']);
  });
});
