import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ReadRespSchema } from '../../../proto/gen/event_store/client/streams_pb.js';
import type { RecordedEvent } from '../../../services/kernel/event.js';
import type { StreamName } from '../../../services/kernel/stream.js';
import { eventAnswer } from '../../../services/streams/eventstore/read/event-answer.js';
import { metadataFor, propertiesOf } from '../../../services/streams/eventstore/event-metadata.js';
import { protocolEvent, storedForm } from '../../../services/streams/eventstore/recorded.js';

const anyText = fc.string({ unit: 'grapheme', maxLength: 200 });
const recordedAtMs = fc.integer({ min: 0, max: Date.UTC(2100, 0, 1) });

/**
 * Metadata as a control plane writes it, as clients of the protocol write it, with a time that is no whole number, and
 * with `$custom` but without `$isJson`.
 */
const metadata = fc.oneof(
  fc
    .record({ recordedAtMs, actor: anyText, commandId: anyText, schema: fc.nat(), traceparent: anyText })
    .map((value) => JSON.stringify(value)),
  fc
    .record({ custom: fc.uint8Array({ maxLength: 100 }), isJson: fc.boolean(), recordedAtMs })
    .map((properties) => metadataFor(properties)),
  fc.constant('{"recordedAtMs":1.5}'),
  fc.constant('{"$custom":"","recordedAtMs":3}'),
);

const event = fc.record<RecordedEvent>({
  stream: anyText as fc.Arbitrary<StreamName>,
  revision: fc.bigInt(0n, 2n ** 53n - 1n),
  position: fc.bigInt(0n, 2n ** 53n - 1n),
  id: fc.uint8Array({ minLength: 16, maxLength: 16 }),
  type: anyText,
  data: fc.uint8Array({ maxLength: 1_000 }),
  metadata,
});

describe('an event that is sent to a reader of port 2113', () => {
  it('decodes to the message that the protobuf library would send', async () => {
    await fc.assert(
      fc.asyncProperty(event, fc.constantFrom('string' as const, 'structured' as const), async (recorded, form) => {
        const value = await protocolEvent(recorded, form, storedForm);
        const expected = create(ReadRespSchema, { content: { case: 'event', value } });
        const sent = fromBinary(ReadRespSchema, Uint8Array.from(await eventAnswer(recorded, form, storedForm)));
        expect(sent).toEqual(fromBinary(ReadRespSchema, toBinary(ReadRespSchema, expected)));
      }),
    );
  });

  it('has the time and the metadata that were recorded, whichever process wrote them', () => {
    fc.assert(
      fc.property(metadata, (recorded) => {
        const value = JSON.parse(recorded) as Partial<Record<string, unknown>>;
        const { $custom, $isJson } = value;
        const custom = typeof $custom === 'string' ? Buffer.from($custom, 'base64') : Buffer.from(recorded);
        expect(propertiesOf({ metadata: recorded })).toEqual({
          custom,
          isJson: $isJson === true,
          recordedAtMs: value['recordedAtMs'],
        });
      }),
    );
  });
});
