import { create } from '@bufbuild/protobuf';
import { ParkedStreamRetryRequestedSchema } from '../../proto/gen/platformidl/eventlog/parked_stream_pb.js';
import type { Aggregate, Decider } from '../kernel/aggregate.js';
import { PARKED_STREAM_CATEGORY, parkedStreamCodec, type ParkedStreamEvent } from './events.js';

type ParkedStreamCommand = { readonly type: 'RetryParkedStream'; readonly stream: string };

/** Each request is recorded; none depends on those before it. */
type NoState = Readonly<Record<string, never>>;

const parkedStreamDecider: Decider<NoState, ParkedStreamCommand, ParkedStreamEvent, never> = {
  initial: () => ({}),
  evolve: (state) => state,
  decide: (_state, { stream }) => ({
    kind: 'accepted',
    events: [{ type: 'ParkedStreamRetryRequested', data: create(ParkedStreamRetryRequestedSchema, { stream }) }],
  }),
};

const STATE_BYTES = 100;

export const parkedStreamAggregate: Aggregate<NoState, ParkedStreamCommand, ParkedStreamEvent, never> = {
  category: PARKED_STREAM_CATEGORY,
  decider: parkedStreamDecider,
  codec: parkedStreamCodec,
  payloadScope: () => 'operations',
  isPermanentRefusal: () => false,
  sizeOf: () => STATE_BYTES,
};
