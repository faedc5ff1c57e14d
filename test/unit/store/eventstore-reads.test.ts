import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { BACKWARDS, END, FORWARDS, START, streamNameFilter } from '@eventstore/db-client';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  ReadReq_Options_ReadDirection as ReadDirection,
  ReadReqSchema,
  ReadRespSchema,
} from '../../../proto/gen/event_store/client/streams_pb.js';
import type { EventFilter } from '../../../services/kernel/ports/event-store.js';
import { serverFilter } from '../../../services/store/eventstore/log-reads.js';
import { readAnswer } from '../../../services/store/eventstore/wire/read-answer.js';
import { encodedReadRequest } from '../../../services/store/eventstore/wire/read-request.js';

type Content = NonNullable<MessageInitShape<typeof ReadRespSchema>['content']>;

/** An answer of a server to a read, as the adapter reads it. */
const answered = (content: Content) =>
  readAnswer(Buffer.from(toBinary(ReadRespSchema, create(ReadRespSchema, { content }))));

const ID = '00112233-4455-6677-8899-aabbccddeeff';

/** The content of an answer with this event. */
const eventContent = (event: {
  readonly stream: string;
  readonly type: string;
  readonly data: Uint8Array;
  readonly metadata: string;
  readonly revision: bigint;
  readonly position: bigint;
  readonly contentType?: string;
}): Content => ({
  case: 'event',
  value: {
    event: {
      id: { value: { case: 'string', value: ID } },
      streamIdentifier: { streamName: Buffer.from(event.stream) },
      streamRevision: event.revision,
      commitPosition: event.position,
      preparePosition: event.position,
      metadata: {
        type: event.type,
        created: '17000000001230000', // in units of 100 ns since 1970
        'content-type': event.contentType ?? 'application/octet-stream',
      },
      customMetadata: Buffer.from(event.metadata),
      data: event.data,
    },
    position: { case: 'commitPosition', value: event.position },
  },
});

const text = fc.string({ unit: 'grapheme', maxLength: 200 });

describe('an event that is read from an event store', () => {
  it('is the one that the library of protobuf has written', () => {
    const event = fc.record({
      stream: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 300 }),
      type: text,
      data: fc.uint8Array({ maxLength: 10_000 }),
      metadata: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 300 }),
      revision: fc.bigInt(0n, 2n ** 62n),
      position: fc.bigInt(0n, 2n ** 62n),
    });
    fc.assert(
      fc.property(event, (written) => {
        const read = answered(eventContent(written));
        if ('mark' in read) throw new Error('no event');
        const { data, id, ...rest } = read;
        expect({ ...rest, data: Buffer.from(data), id: Buffer.from(id).toString('hex') }).toEqual({
          ...written,
          data: Buffer.from(written.data),
          id: ID.replaceAll('-', ''),
        });
      }),
    );
  });

  it('has its JSON as it was stored, and empty metadata as an empty object', () => {
    const given = { stream: 'a', type: 'T', metadata: '', revision: 0n, position: 1n, contentType: 'application/json' };
    const read = answered(eventContent({ ...given, data: Buffer.from('{ "logId":"x"}') }));
    if ('mark' in read) throw new Error('no event');
    expect(Buffer.from(read.data).toString()).toBe('{ "logId":"x"}');
    expect(read.metadata).toBe('{}');
  });

  it('is distinguished from answers that are no event', () => {
    expect(answered({ case: 'caughtUp', value: {} })).toEqual({ mark: 'caught-up' });
    expect(answered({ case: 'checkpoint', value: { commitPosition: 2n ** 40n, preparePosition: 1n } })).toEqual({
      mark: 'checkpoint',
      position: 2n ** 40n,
    });
    expect(answered({ case: 'streamNotFound', value: {} })).toEqual({ mark: 'not-found' });
    expect(answered({ case: 'confirmation', value: { subscriptionId: 'x' } })).toEqual({ mark: 'other' });
    expect(answered({ case: 'fellBehind', value: {} })).toEqual({ mark: 'other' });
  });

  it('is refused where its bytes are cut off', () => {
    const event = { stream: 'a', type: 'T', data: Buffer.from('data'), metadata: '{}', revision: 0n, position: 1n };
    const bytes = Buffer.from(toBinary(ReadRespSchema, create(ReadRespSchema, { content: eventContent(event) })));
    for (let end = 1; end < bytes.length; end += 1) expect(() => readAnswer(bytes.subarray(0, end))).toThrow();
  });
});

describe('a read of an event store', () => {
  /** The options of a read request, decoded by the library of protobuf. */
  const asked = (...given: Parameters<typeof encodedReadRequest>) =>
    fromBinary(ReadReqSchema, encodedReadRequest(...given)).options!;

  it('is of a stream, from a revision or an end', () => {
    expect(asked({ stream: 'a-b', from: 7n, count: 3 })).toMatchObject({
      streamOption: { case: 'stream', value: { revisionOption: { case: 'revision', value: 7n } } },
      readDirection: ReadDirection.Forwards,
      countOption: { case: 'count', value: 3n },
      filterOption: { case: 'noFilter' },
      uuidOption: { content: { case: 'string' } },
    });
    expect(asked({ stream: 'a-b', from: END, direction: BACKWARDS })).toMatchObject({
      streamOption: { case: 'stream', value: { revisionOption: { case: 'end' } } },
      readDirection: ReadDirection.Backwards,
    });
  });

  it('is filtered by types, or by categories where these lack executions or no types are asked for', () => {
    const categories = ['execution', 'task'];
    const sent = (filter: EventFilter) => {
      const { filterOption } = asked({ from: 'start', isSubscription: true, filter: serverFilter(filter) });
      return filterOption.case === 'filter' ? filterOption.value.filter : undefined;
    };
    expect(sent({ categories, types: ['Ended'] })).toMatchObject({ case: 'eventType', value: { prefix: ['Ended'] } });
    expect(sent({ types: ['Ended'] })).toMatchObject({ case: 'eventType', value: { prefix: ['Ended'] } });
    expect(sent({ categories: ['task'], types: ['Ended'] })).toMatchObject({
      case: 'streamIdentifier',
      value: { prefix: ['task-'] },
    });
    expect(sent({ categories })).toMatchObject({
      case: 'streamIdentifier',
      value: { prefix: ['execution-', 'task-'] },
    });
  });

  it('is of the whole log, from a position with a filter, or from the start', () => {
    const filter = streamNameFilter({ prefixes: ['a-'], maxSearchWindow: 500 });
    expect(asked({ from: 9n, isSubscription: true, filter, direction: FORWARDS })).toMatchObject({
      streamOption: {
        case: 'all',
        value: { allOption: { case: 'position', value: { commitPosition: 9n, preparePosition: 9n } } },
      },
      countOption: { case: 'subscription' },
      filterOption: {
        case: 'filter',
        value: {
          filter: { case: 'streamIdentifier', value: { prefix: ['a-'] } },
          window: { case: 'max', value: 500 },
          checkpointIntervalMultiplier: 1,
        },
      },
    });
    expect(asked({ from: START })).toMatchObject({
      streamOption: { case: 'all', value: { allOption: { case: 'start' } } },
    });
  });
});
