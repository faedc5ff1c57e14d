import { create } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';

import {
  AppendReq_OptionsSchema,
  BatchAppendReq_OptionsSchema,
  DeleteReq_OptionsSchema,
} from '../../../proto/gen/event_store/client/streams_pb.js';
import { AppendTooLarge } from '../../../services/kernel/fault.js';
import { MAX_APPEND_BYTES } from '../../../services/kernel/ports/event-store.js';
import { missing } from '../../../services/kernel/rpc.js';
import { gathering, writeTargetOf } from '../../../services/streams/eventstore/append/append-request.js';

const streamIdentifier = { streamName: Buffer.from('orders-1') };

it('a write without a condition is refused with the name of the field in its own message', () => {
  expect(() => writeTargetOf(create(AppendReq_OptionsSchema, { streamIdentifier }))).toThrow(
    missing('options.expected_stream_revision'),
  );
  expect(() => writeTargetOf(create(DeleteReq_OptionsSchema, { streamIdentifier }))).toThrow(
    missing('options.expected_stream_revision'),
  );
  expect(() => writeTargetOf(create(BatchAppendReq_OptionsSchema, { streamIdentifier }))).toThrow(
    missing('options.expected_stream_position'),
  );
});

it('the events of an append are counted by the bytes of their texts', () => {
  const append = gathering();
  const metadata = 'é'.repeat(MAX_APPEND_BYTES / 2); // as many bytes as an append may have
  append.add({ id: new Uint8Array(16), type: 'é', data: new Uint8Array(), metadata });
  const bytes = MAX_APPEND_BYTES + 2 + 16; // with the type and the id
  expect(() => append.events()).toThrow(new AppendTooLarge(`an append of ${bytes} bytes is above ${MAX_APPEND_BYTES}`));
});
