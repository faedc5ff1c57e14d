import { describe, expect, it } from 'vitest';

import { CorruptEvent, StoreUnavailable, UnknownEvent } from '../../../../services/kernel/fault.js';
import type { StreamName } from '../../../../services/kernel/stream.js';
import { codecs } from '../../../../services/main/models.js';
import { rowOf } from '../../../../services/streams/files/event-row.js';
import { jsonLines } from '../../../../services/streams/files/json-lines.js';
import { parquet } from '../../../../services/streams/files/parquet.js';
import { executionSamples } from '../../events/samples/executions.js';
import { recordedIn } from '../../events/samples/sample.js';

const cannotDecode = (): never => {
  throw new CorruptEvent('damaged');
};

const present = { json: () => Promise.resolve(Buffer.from('{}')), codecs };

describe('the row of an event', () => {
  it.each(executionSamples.map((sample) => [sample.type, sample] as const))(
    'of %s has when it occurred and when it was recorded',
    async (type, sample) => {
      const row = await rowOf(recordedIn(sample, 2, { at: 0, revision: 0 }), present);
      expect(row).toMatchObject({ type, recorded_at: BigInt(Date.parse('2026-01-01T00:01:00.120Z')) * 1_000n });
      const { occurredAt } = sample.data as { readonly occurredAt?: string };
      const isReport = type.endsWith('PhaseReported') && occurredAt !== undefined;
      expect(row.occurred_at / 1_000n).toBe(isReport ? BigInt(Date.parse(occurredAt)) : row.recorded_at / 1_000n);
    },
  );

  it('of a report has the largest attempt that an engine can report, also in a file', async () => {
    const sample = executionSamples.find(({ type }) => type === 'TaskPhaseReported')!;
    const largest = { ...sample, data: { ...sample.data, attempt: 4_294_967_295 } };
    const row = await rowOf(recordedIn(largest, 2, { at: 0, revision: 0 }), present);
    expect(row.attempt).toBe(4_294_967_295n);
    expect(Buffer.from(jsonLines.encode([row])).toString()).toContain('"attempt":4294967295,');
    expect(
      Buffer.from(parquet.encode([row]))
        .subarray(0, 4)
        .toString(),
    ).toBe('PAR1');
  });

  it('of a report stored as the older type EngineReported has the same time as one of the newer type', async () => {
    const sample = executionSamples.find(({ type }) => type === 'NodePhaseReported')!;
    const older = recordedIn(sample, 1, { at: 0, revision: 0 });
    const { occurred_at } = await rowOf(recordedIn(sample, 2, { at: 0, revision: 0 }), present);
    expect(await rowOf(older, present)).toMatchObject({ type: 'EngineReported', occurred_at });
  });

  const intact = recordedIn(executionSamples[0]!, 2, { at: 0, revision: 0 });

  it.each([
    ['category', { stream: 'later-a' as StreamName }],
    ['type', { type: 'ExecutionLent' }],
    ['schema', { metadata: JSON.stringify({ ...JSON.parse(intact.metadata), schema: 2 }) }],
  ])('of a %s that only a newer release knows is refused as an unknown event', async (_, change) => {
    await expect(rowOf({ ...intact, ...change }, present)).rejects.toBeInstanceOf(UnknownEvent);
  });

  const failing = (error: Error) => ({ ...present, json: () => Promise.reject(error) });

  it('fails when a payload cannot be read now', async () => {
    await expect(rowOf(intact, failing(new StoreUnavailable('away')))).rejects.toThrow('away');
  });

  it('of a damaged event has the reason, its stream, its position and its bytes', async () => {
    const { data, stream, position } = intact;
    const row = await rowOf(intact, failing(new CorruptEvent('no form in JSON')));
    expect(row).toMatchObject({ stream, position, unreadable: 'no form in JSON' });
    expect(JSON.parse(Buffer.from(row.body).toString())).toBe(Buffer.from(data).toString('base64'));
    expect(row.recorded_at).toBe((await rowOf(intact, present)).recorded_at);
  });

  it.each([
    ['a time that no file holds', { recordedAtMs: 9e15 }, { recorded_at: 0n, schema_version: 1 }],
    ['a schema that is no integer', { schema: 1.5 }, { schema_version: 0 }],
    ['a schema of more than 32 bits', { schema: 2 ** 31 }, { schema_version: 0 }],
  ])('of a damaged event with %s has 0 in its place', async (_, change, expected) => {
    const metadata = JSON.stringify({ ...JSON.parse(intact.metadata), ...change });
    const codec = { ...codecs.get('execution')!, decode: cannotDecode };
    const damaged = { ...present, codecs: new Map([['execution', codec]]) };
    expect(await rowOf({ ...intact, metadata }, damaged)).toMatchObject(expected);
  });

  it.each(['no JSON', '{}', '{"recordedAtMs":"today","schema":1}'])(
    'of an event with metadata %s has the reason',
    async (metadata) => {
      expect(await rowOf({ ...intact, metadata }, present)).toMatchObject({
        recorded_at: 0n,
        command_id: '',
        unreadable: expect.any(String) as string,
      });
    },
  );
});
