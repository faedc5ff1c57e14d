import { create, toBinary } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { namedEntityCollection } from '../../projections/named-entities/columns.js';
import { projector } from '../../projections/runtime/projector.js';
import type { ReadStore } from '../../projections/runtime/read-store.js';
import { ResourceType } from '../../proto/gen/platformidl/core/identifier_pb.js';
import { CompiledTaskSchema } from '../../proto/gen/platformidl/core/compiler_pb.js';
import { NamedEntityUpdatedSchema } from '../../proto/gen/platformidl/eventlog/named_entity_pb.js';
import { TaskRegisteredSchema } from '../../proto/gen/platformidl/eventlog/task_pb.js';
import type { RecordedEvent } from '../../services/kernel/event.js';
import { UnknownEvent } from '../../services/kernel/fault.js';
import type { StreamName } from '../../services/kernel/stream.js';
import { codecs, models } from '../../services/main/models.js';
import { namedEntityCodec, namedEntityStream } from '../../services/named-entity/events.js';
import { taskCodec, taskStream } from '../../services/task/events.js';

const id = { project: 'flytesnacks', domain: 'development', name: 'greet' };
const key = namedEntityStream({ kind: 'TASK', ...id });
const payloads = {
  put: () => Promise.reject(new Error('nothing is put here')),
  get: () => Promise.resolve(undefined),
  close: () => Promise.resolve(),
};

/** A change of one name: a version is registered, or its description and state are set. */
type Change = { readonly version: number } | { readonly description: string; readonly state: number };

const eventOf = (change: Change): Pick<RecordedEvent, 'stream' | 'type' | 'data'> => {
  if ('version' in change) {
    const version = { resourceType: ResourceType.TASK, ...id, version: `v${change.version}` };
    const value = toBinary(CompiledTaskSchema, create(CompiledTaskSchema, { template: { id: version } }));
    const data = create(TaskRegisteredSchema, { id: version, compiled: { content: { case: 'inline', value } } });
    return { stream: taskStream(version), ...taskCodec.encode({ type: 'TaskRegistered', data }) };
  }
  const update = { resourceType: ResourceType.TASK, id, metadata: change };
  const data = create(NamedEntityUpdatedSchema, update);
  return { stream: key, ...namedEntityCodec.encode({ type: 'NamedEntityUpdated', data }) };
};

/** The events of changes, recorded in their order from position 1 on. */
const recorded = (changes: readonly Change[]): readonly RecordedEvent[] => {
  const revisions = new Map<string, bigint>();
  return changes.map((change, index) => {
    const event = eventOf(change);
    const revision = revisions.get(event.stream) ?? 0n;
    revisions.set(event.stream, revision + 1n);
    const metadata = JSON.stringify({ recordedAtMs: 1_000 + index, actor: '', commandId: '', schema: 1 });
    return { ...event, id: Buffer.alloc(16, index), metadata, revision, position: BigInt(index + 1) };
  });
};

/** The codecs of a release that does not know the events with these data. */
const without = (unknown: ReadonlySet<Uint8Array>): typeof codecs =>
  new Map(
    [...codecs].map(([category, codec]) => [
      category,
      {
        ...codec,
        decode: (type: string, data: Uint8Array, schema: number) => {
          if (unknown.has(data)) throw new UnknownEvent(`${type} of the next release`);
          return codec.decode(type, data, schema);
        },
      },
    ]),
  );

/**
 * The contract of every read store for documents that several streams write to, here named entities.
 *
 * @param runs the number of random sequences of changes that are tried.
 */
export const parkedStreamsContract = (name: string, open: () => Promise<ReadStore>, runs: number): void => {
  describe(name, () => {
    let store: ReadStore;
    beforeAll(async () => {
      store = await open();
      await store.prepare(models.map(({ collection }) => collection));
    });
    afterAll(() => store.close());

    const start = (known = codecs) =>
      projector({ readStore: store, logId: 'l', codecs: known, payloads, models, onPoison: 'park' });

    const resumeAll = async (events: readonly RecordedEvent[]): Promise<void> => {
      const target = await start();
      for (const { stream } of target.parked()) {
        const own = events.filter((event) => event.stream === stream);
        const pages = async function* () {
          for (const event of own) yield await Promise.resolve([event]);
        };
        expect(await target.resume(stream as StreamName, pages())).toBe(true);
      }
    };

    it('leave a document as if they had never been parked, once all are resumed, whatever was recorded meanwhile', async () => {
      const change = fc.oneof(
        fc.record({ version: fc.nat({ max: 3 }) }),
        fc.record({ description: fc.constantFrom('', 'a', 'b'), state: fc.nat({ max: 1 }) }),
      );
      const written = fc.array(fc.record({ change, isUnknown: fc.boolean(), isResumed: fc.boolean() }), {
        minLength: 1,
        maxLength: 10,
      });
      let parked = 0;
      const property = fc.asyncProperty(written, async (steps) => {
        const events = recorded(steps.map((step) => step.change));
        await store.clear();
        await (await start()).take(events, BigInt(events.length));
        const expected = await store.get(namedEntityCollection, key);

        await store.clear();
        const unknown = new Set(events.filter((_, at) => steps[at]!.isUnknown).map(({ data }) => data));
        for (const [at, { isResumed }] of steps.entries()) {
          await (await start(without(unknown))).take([events[at]!], BigInt(at + 1));
          parked += (await store.parked()).length;
          if (isResumed) await resumeAll(events);
        }
        await resumeAll(events);
        expect(await store.parked()).toEqual([]);
        expect(await store.get(namedEntityCollection, key)).toEqual(expected);
      });
      await fc.assert(property, { numRuns: runs });
      expect(parked).toBeGreaterThan(runs / 2);
    }, 120_000);
  });
};
