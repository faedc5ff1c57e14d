import { randomUUID } from 'node:crypto';

import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import { AppendReq_ProposedMessageSchema, ReadReqSchema } from '../../../proto/gen/event_store/client/streams_pb.js';
import { proposedEvent } from '../../../services/streams/eventstore/append/append-request.js';
import { callFailureOf } from '../../../services/streams/eventstore/failure.js';
import { readPlan } from '../../../services/streams/eventstore/read/read-request.js';

const failureOf = (ask: () => unknown): unknown => {
  try {
    return ask();
  } catch (thrown) {
    return callFailureOf(thrown);
  }
};

describe('a request of the EventStoreDB protocol', () => {
  it.each(['type', 'content-type'])('with an event without its property %j fails as official clients expect', (key) => {
    const { [key]: _missing, ...metadata } = { type: 'A', 'content-type': 'application/json' } as Record<
      string,
      string
    >;
    const id = { value: { case: 'string', value: randomUUID() } } as const;
    const proposed = create(AppendReq_ProposedMessageSchema, { id, metadata });
    expect(failureOf(() => proposedEvent(proposed, 0))).toEqual({
      code: 'INVALID_ARGUMENT',
      details: `missing proposed_message.metadata.${key}`,
      trailers: {
        exception: 'missing-required-metadata-property',
        'required-metadata-properties': 'type,content-type',
      },
    });
  });

  it('for a read in an unknown direction is refused', () => {
    const request = create(ReadReqSchema, {
      options: {
        streamOption: { case: 'all', value: { allOption: { case: 'start', value: {} } } },
        countOption: { case: 'count', value: 1n },
        filterOption: { case: 'noFilter', value: {} },
        readDirection: 7 as never,
      },
    });
    expect(failureOf(() => readPlan(request))).toMatchObject({
      code: 'INVALID_ARGUMENT',
      details: 'invalid value for options.read_direction: 7 is no direction',
    });
  });
});
