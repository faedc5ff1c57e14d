import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { codecs } from '../../../../services/main/models.js';
import { rowOf } from '../../../../services/streams/files/event-row.js';
import { jsonLines } from '../../../../services/streams/files/json-lines.js';
import { executionSamples } from '../../events/samples/executions.js';
import { recordedIn } from '../../events/samples/sample.js';

const MICROS_IN_SECOND = 1_000_000n;

/** The range of `google.protobuf.Timestamp`, in seconds since 1970. */
const [FIRST_SECOND, LAST_SECOND] = [-62_135_596_800n, 253_402_300_799n];

describe('a time in a file of JSON lines', () => {
  it('is that of the event to the microsecond, also before 1970', async () => {
    const event = recordedIn(executionSamples[0]!, 2, { at: 0, revision: 0 });
    const row = await rowOf(event, { json: () => Promise.resolve(Buffer.from('{}')), codecs });
    const time = fc.bigInt(FIRST_SECOND * MICROS_IN_SECOND, LAST_SECOND * MICROS_IN_SECOND);
    fc.assert(
      fc.property(time, (occurred_at) => {
        const line = JSON.parse(Buffer.from(jsonLines.encode([{ ...row, occurred_at }])).toString()) as {
          readonly occurred_at: string;
        };
        const [, seconds = '', micros = ''] = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d{6})Z$/u.exec(line.occurred_at)!;
        expect(BigInt(Date.parse(`${seconds}Z`)) * 1_000n + BigInt(micros)).toBe(occurred_at);
      }),
    );
  });
});
