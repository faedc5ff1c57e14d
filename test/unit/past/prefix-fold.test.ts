import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { executions } from '../../../projections/executions/projection.js';
import { nodeExecutions } from '../../../projections/node-executions/projection.js';
import { type FoldMemory, foldPrefix, type Moment, type Prefix } from '../../../projections/runtime/prefix-fold.js';
import type { ReadModel } from '../../../projections/runtime/read-model.js';
import type { ReadStore, StoredDocument } from '../../../projections/runtime/read-store.js';
import { sqliteReadStore } from '../../../projections/store/sqlite/sqlite-read-store.js';
import { taskExecutions } from '../../../projections/task-executions/projection.js';
import type { RecordedEvent } from '../../../services/kernel/event.js';
import { codecs } from '../../../services/main/models.js';
import { documentsAfter, recordedAtMs } from '../../support/run-views.js';
import { node, stream, workflow } from '../execution/reports.js';
import { logIn, noPayloads } from '../streams/history/recorded.js';
import { anyReport, recordedBy, withTimes } from './reports.js';

const models: readonly ReadModel<unknown>[] = [executions, nodeExecutions, taskExecutions];

const storeFor = async (): Promise<ReadStore> => {
  const store = sqliteReadStore({ directory: undefined, mode: 'read-write' });
  await store.prepare(models.map(({ collection }) => collection));
  return store;
};

/** Writes the documents of each page of events to the store, and reads them again for the next page. */
const NO_MEMORY: FoldMemory = { maxDocuments: 0, maxEventBytes: 0, cacheBytes: 0 };

const foldOf = async (events: readonly RecordedEvent[], prefix: Omit<Prefix, 'stream'>, memory?: FoldMemory) => {
  const store = await storeFor();
  const sources = { log: logIn(withTimes(events)), payloads: noPayloads, codecs, models, store };
  return { store, ...(await foldPrefix(sources, { ...prefix, stream }, memory)) };
};

const bytes = ({ key, fields, answer, element, state }: StoredDocument) => ({ key, fields, answer, element, state });

const documentsIn = async (folded: Awaited<ReturnType<typeof foldOf>>, { collection }: ReadModel<unknown>) => {
  const found = await folded.store.getMany(collection, [...(folded.keys.get(collection.name) ?? [])]);
  return new Map(found.map((each) => [each.key, bytes(each)]));
};

describe('a prefix of a stream', () => {
  it('folds to the documents of its events alone, up to any position and any time', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(anyReport, { maxLength: 30 }),
        fc.nat({ max: 32 }),
        fc.boolean(),
        fc.constantFrom(undefined, NO_MEMORY),
        async (commands, at, byTime, memory) => {
          const events = await recordedBy(commands);
          const end = BigInt(at);
          const until: Moment = byTime ? { timeMs: recordedAtMs(end) } : { position: end };
          const folded = await foldOf(events, { until }, memory);
          const prefix = events.filter(({ position }) => position <= end);
          for (const model of models) {
            const alone = [...documentsAfter(model, prefix)].map(([key, each]) => [key, bytes(each)] as const);
            expect(await documentsIn(folded, model)).toEqual(new Map(alone));
          }
          expect(folded.position).toBe(prefix.at(-1)?.position ?? 0n);
          expect(folded.isClosed).toBe(prefix.length < events.length);
          await folded.store.close();
        },
      ),
      { numRuns: Number(process.env['FLIGHTLOG_TEST_RUNS'] ?? 25) },
    ));

  it('has only the documents that are wanted', async () => {
    const events = await recordedBy([workflow('RUNNING'), node('RUNNING'), node('RUNNING', { node: 'n1' })]);
    const isWanted = (_: string, key: string): boolean => key.endsWith('/n1');
    const folded = await foldOf(events, { until: undefined, isWanted });
    expect([...(await documentsIn(folded, nodeExecutions)).keys()]).toEqual([`${stream}/n1`]);
    expect((await documentsIn(folded, executions)).size).toBe(0);
    await folded.store.close();
  });

  it('is unavailable when an event of it cannot be read, and not when a later one cannot', async () => {
    const events = await recordedBy([workflow('RUNNING'), node('RUNNING')]);
    const broken = events.map((event, index) => (index === 1 ? { ...event, type: 'Unheard' } : event));
    await expect(foldOf(broken, { until: undefined })).rejects.toMatchObject({ code: 'store-unavailable' });
    expect((await foldOf(broken, { until: { position: 1n } })).position).toBe(1n);
  });
});
