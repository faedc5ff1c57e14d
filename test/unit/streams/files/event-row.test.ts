import { describe, expect, it } from 'vitest';

import { rowOf } from '../../../../services/streams/files/event-row.js';
import { executionSamples } from '../../events/samples/executions.js';
import { recordedIn } from '../../events/samples/sample.js';

const present = { json: () => Promise.resolve(Buffer.from('{}')), idText: () => 'id' };

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

  it('of a report of the older type has when it occurred', async () => {
    const sample = executionSamples.find(({ type }) => type === 'NodePhaseReported')!;
    const older = recordedIn(sample, 1, { at: 0, revision: 0 });
    const { occurred_at } = await rowOf(recordedIn(sample, 2, { at: 0, revision: 0 }), present);
    expect(await rowOf(older, present)).toMatchObject({ type: 'EngineReported', occurred_at });
  });
});
