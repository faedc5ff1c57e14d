import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { executions } from '../../../projections/executions/projection.js';
import { nodeExecutions } from '../../../projections/node-executions/projection.js';
import { prefixReads } from '../../../projections/query/prefix-reads.js';
import {
  type FilledStore,
  type FoldMemory,
  foldPrefix,
  type Moment,
  type Prefix,
} from '../../../projections/runtime/prefix-fold.js';
import type { ReadModel } from '../../../projections/runtime/read-model.js';
import type {
  Condition,
  DocumentReads,
  Found,
  Query,
  StoredDocument,
} from '../../../projections/runtime/read-store.js';
import { temporaryReadStore } from '../../../projections/store/sqlite/temporary-read-store.js';
import { taskExecutions } from '../../../projections/task-executions/projection.js';
import type { RecordedEvent } from '../../../services/kernel/event.js';
import { codecs } from '../../../services/main/models.js';
import { documentsAfter, recordedAtMs } from '../../support/views/run-views.js';
import { node, stream, workflow } from '../execution/reports.js';
import { logIn, noPayloads } from '../streams/history/recorded.js';
import { anyReport, recordedBy, withTimes } from './reports.js';

const models: readonly ReadModel<unknown>[] = [executions, nodeExecutions, taskExecutions];

const openStore = (): Promise<FilledStore> => temporaryReadStore(models);

/** With these limits a fold writes its documents to the store after each page of events; the next page reads them. */
const NO_MEMORY: FoldMemory = { maxDocuments: 0, maxEventBytes: 0, cacheBytes: 0, heldEventBytes: 0 };

/** Folds a prefix of the sample execution's stream; `store` answers queries from memory, or from the filled store. */
const foldOf = async (events: readonly RecordedEvent[], prefix: Omit<Prefix, 'stream'>, memory?: FoldMemory) => {
  const sources = { log: logIn(withTimes(events)), payloads: noPayloads, codecs, models, openStore };
  const folded = await foldPrefix(sources, { ...prefix, stream }, memory);
  return { ...folded, store: prefixReads(folded) };
};

/** All of a document but its position. */
const contentOf = ({ key, fields, response, listElement, foldState }: StoredDocument) => ({
  key,
  fields,
  answer: response,
  element: listElement,
  state: foldState,
});

/** The documents of a model in a folded prefix, by key. */
const documentsIn = async (folded: Awaited<ReturnType<typeof foldOf>>, { collection }: ReadModel<unknown>) => {
  const found = await folded.store.getMany(collection, [...(folded.keys.get(collection.name) ?? [])]);
  return new Map(found.map((each) => [each.key, contentOf(each)]));
};

const anyNodeQuery: fc.Arbitrary<Query> = fc.record({
  where: fc.subarray<Condition>([
    { field: 'parent', is: '=', value: '' },
    { field: 'phase', is: 'in', values: ['RUNNING', 'SUCCEEDED', 'FAILED'] },
    { field: 'node_id', is: 'not like', pattern: '%1' },
    { field: 'error_code', is: '=', value: null },
  ]),
  orderBy: fc.record({
    field: fc.constantFrom('created_at', 'recorded', 'started_at', 'duration', 'phase', 'node_id', 'cache_status'),
    direction: fc.constantFrom('ascending', 'descending'),
  }),
  offset: fc.nat({ max: 2 }),
  limit: fc.integer({ min: 1, max: 4 }),
});

/** The answers to a query, page after page up to the last. */
const pagesOf = async (store: DocumentReads, { offset = 0, ...query }: Query): Promise<readonly Found[]> => {
  const pages = [await store.find(nodeExecutions.collection, { ...query, offset })];
  for (let after = pages[0]!.next; after; after = pages.at(-1)!.next)
    pages.push(await store.find(nodeExecutions.collection, { ...query, after }));
  return pages;
};

describe('a prefix of a stream', () => {
  it('folds to the documents of its events alone, up to any position and any time', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(anyReport, { maxLength: 30 }),
        fc.nat({ max: 32 }),
        fc.boolean(),
        fc.constantFrom(undefined, NO_MEMORY),
        async (commands, endPosition, byTime, memory) => {
          const events = await recordedBy(commands);
          const end = BigInt(endPosition);
          const until: Moment = byTime ? { timeMs: recordedAtMs(end) } : { position: end };
          const folded = await foldOf(events, { until }, memory);
          const prefix = events.filter(({ position }) => position <= end);
          for (const model of models) {
            const alone = [...documentsAfter(model, prefix)].map(([key, each]) => [key, contentOf(each)] as const);
            expect(await documentsIn(folded, model)).toEqual(new Map(alone));
          }
          expect(folded.position).toBe(prefix.at(-1)?.position ?? 0n);
          expect(folded.isFinal).toBe(prefix.length < events.length);
          await folded.close();
        },
      ),
      { numRuns: Number(process.env['FLIGHTLOG_TEST_RUNS'] ?? 25) },
    ));

  it('finds the same in memory as in its store, page by page', () =>
    fc.assert(
      fc.asyncProperty(fc.array(anyReport, { maxLength: 30 }), anyNodeQuery, async (commands, query) => {
        const folded = await foldOf(await recordedBy(commands), { until: undefined });
        const inMemory = await pagesOf(folded.store, query);
        expect(folded.held()).toBeDefined();
        await folded.toStore();
        expect(folded.held()).toBeUndefined();
        expect(inMemory).toEqual(await pagesOf(folded.store, query));
        await folded.close();
      }),
      { numRuns: Number(process.env['FLIGHTLOG_TEST_RUNS'] ?? 25) },
    ));

  it('has its documents in its store once a query needs the store', async () => {
    const events = await recordedBy([workflow('RUNNING'), node('RUNNING'), node('RUNNING', { node: 'n1' })]);
    const folded = await foldOf(events, { until: undefined });
    const ofRunning: Condition = {
      field: 'execution',
      is: 'key of',
      collection: executions.collection,
      where: [{ field: 'phase', is: '=', value: 'RUNNING' }],
    };
    const query: Query = { where: [ofRunning], orderBy: { field: 'node_id', direction: 'descending' }, limit: 10 };
    const before = await documentsIn(folded, nodeExecutions);
    expect((await folded.store.find(nodeExecutions.collection, query)).elements).toHaveLength(2);
    expect(folded.held()).toBeUndefined();
    expect(await documentsIn(folded, nodeExecutions)).toEqual(before);
    await folded.close();
  });

  it('has only the documents that `isWanted` selects', async () => {
    const events = await recordedBy([workflow('RUNNING'), node('RUNNING'), node('RUNNING', { node: 'n1' })]);
    const isWanted = (_: string, key: string): boolean => key.endsWith('/n1');
    const folded = await foldOf(events, { until: undefined, isWanted });
    expect([...(await documentsIn(folded, nodeExecutions)).keys()]).toEqual([`${stream}/n1`]);
    expect((await documentsIn(folded, executions)).size).toBe(0);
    await folded.close();
  });

  it('is parked when an event of it cannot be read, and not when a later one cannot', async () => {
    const events = await recordedBy([workflow('RUNNING'), node('RUNNING')]);
    const broken = events.map((event, index) => (index === 1 ? { ...event, type: 'Unheard' } : event));
    await expect(foldOf(broken, { until: undefined })).rejects.toMatchObject({ code: 'stream-parked', stream });
    expect((await foldOf(broken, { until: { position: 1n } })).position).toBe(1n);
  });

  it('is parked also up to an earlier time by the last event of a page whose metadata cannot be decoded', async () => {
    const events = await recordedBy([workflow('RUNNING'), node('RUNNING')]);
    const broken = withTimes(events).map((event, index) => (index === 1 ? { ...event, metadata: 'null' } : event));
    const sources = { log: logIn(broken), payloads: noPayloads, codecs, models, openStore };
    await expect(foldPrefix(sources, { stream, until: { timeMs: 1 } })).rejects.toMatchObject({
      code: 'stream-parked',
      stream,
    });
  });
});
