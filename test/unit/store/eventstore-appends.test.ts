import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { AnySchema } from '@bufbuild/protobuf/wkt';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BatchAppendReqSchema, BatchAppendRespSchema } from '../../../proto/gen/event_store/client/streams_pb.js';
import {
  AccessDeniedSchema,
  BadRequestSchema,
  EmptySchema,
  MaximumAppendSizeExceededSchema,
  StreamDeletedSchema,
  TimeoutSchema,
  WrongExpectedVersionSchema,
} from '../../../proto/gen/event_store/client/values_pb.js';
import type { NewEvent } from '../../../services/kernel/event.js';
import { AppendTooLarge, CorruptEvent, RevisionConflict, StoreUnavailable } from '../../../services/kernel/fault.js';
import {
  isConnectionLost,
  isOutcomeUnknown,
  permanentFault,
} from '../../../services/store/eventstore/eventstore-fault.js';
import { appendAnswer } from '../../../services/store/eventstore/wire/append-answer.js';
import { appendRequest } from '../../../services/store/eventstore/wire/append-request.js';

const uuid = (id: Uint8Array): string =>
  Buffer.from(id)
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/u, '$1-$2-$3-$4-');

const event = fc.record<NewEvent>({
  id: fc.uint8Array({ minLength: 16, maxLength: 16 }),
  type: fc.string({ unit: 'grapheme', minLength: 1 }),
  data: fc.uint8Array({ maxLength: 300 }),
  metadata: fc.string({ unit: 'grapheme', maxLength: 200 }),
});
const expected = fc.oneof(
  fc.constant('any' as const),
  fc.constant('no-stream' as const),
  fc.bigInt(0n, 2n ** 53n - 1n),
);

describe('an append to an event store', () => {
  it('is decoded by the protobuf library to the same fields', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 2 ** 40 }),
        fc.record({
          stream: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 300 }),
          expected,
          events: fc.array(event, { minLength: 1, maxLength: 5 }),
          deadlineSeconds: fc.integer({ min: 0, max: 2 ** 36 }),
        }),
        (correlation, message) => {
          const { stream, expected: revision, events, deadlineSeconds } = message;
          const bytes = appendRequest(correlation, message);
          const request = fromBinary(BatchAppendReqSchema, bytes);
          const expectedOption =
            typeof revision === 'bigint'
              ? { case: 'streamPosition', value: revision }
              : { case: revision === 'any' ? 'any' : 'noStream' };
          expect(request).toMatchObject({
            correlationId: { value: { case: 'structured', value: { leastSignificantBits: BigInt(correlation) } } },
            options: {
              expectedStreamPosition: expectedOption,
              deadlineOption: { case: 'deadlineAt', value: { seconds: BigInt(deadlineSeconds) } },
            },
            isFinal: true,
          });
          expect(Buffer.from(request.options!.streamIdentifier!.streamName).toString()).toBe(stream);
          expect(
            request.proposedMessages.map(({ id, metadata, customMetadata, data }) => [
              id?.value.value,
              metadata,
              Buffer.from(customMetadata).toString(),
              Buffer.from(data),
            ]),
          ).toEqual(
            events.map(({ id, type, metadata, data }) => [
              uuid(id),
              { type, 'content-type': 'application/octet-stream' },
              metadata,
              Buffer.from(data),
            ]),
          );
          expect(request.$unknown).toBeUndefined();
        },
      ),
    );
  });
});

/** Codes of gRPC. */
const Code = { UNKNOWN: 2, INTERNAL: 13 } as const;

type Answer = { readonly result?: NonNullable<MessageInitShape<typeof BatchAppendRespSchema>['result']> };

/** The answer of a server to the append with this correlation number, as the adapter reads it. */
const answered = (answer: Answer, correlation = 7n) =>
  appendAnswer(
    Buffer.from(
      toBinary(
        BatchAppendRespSchema,
        create(BatchAppendRespSchema, {
          correlationId: {
            value: { case: 'structured', value: { mostSignificantBits: -1n, leastSignificantBits: correlation } },
          },
          streamIdentifier: { streamName: Buffer.from('execution-a') },
          ...(answer.result && { result: answer.result }),
        }),
      ),
    ),
  );

/** The details of a refusal, which say what kind of refusal it is. */
const details = <Desc extends Parameters<typeof create>[0]>(schema: Desc, init?: MessageInitShape<Desc>) =>
  create(AnySchema, {
    typeUrl: `type.googleapis.com/${schema.typeName}`,
    value: toBinary(schema, create(schema, init)),
  });

/** The result that the adapter reads from an answer with this refusal. */
const refused = (any: ReturnType<typeof details>, message = 'said') =>
  answered({ result: { case: 'error', value: { code: Code.UNKNOWN, message, details: any } } }).result;

describe('the answer to an append', () => {
  it('has the revision and the position of its last event', () => {
    fc.assert(
      fc.property(fc.bigInt(0n, 2n ** 53n), fc.bigInt(0n, 2n ** 62n), (revision, commitPosition) => {
        const answer = answered({
          result: {
            case: 'success',
            value: {
              currentRevisionOption: { case: 'currentRevision', value: revision },
              positionOption: { case: 'position', value: { commitPosition, preparePosition: 1n } },
            },
          },
        });
        expect(answer).toEqual({ correlation: 7, result: { revision, position: commitPosition } });
      }),
    );
  });

  it.each([
    ['a stream at another revision', details(WrongExpectedVersionSchema), RevisionConflict],
    ['an append that is too large', details(MaximumAppendSizeExceededSchema, { maxAppendSize: 9 }), AppendTooLarge],
    ['a user without permission', details(AccessDeniedSchema), StoreUnavailable],
    ['a stream that was deleted', details(StreamDeletedSchema), CorruptEvent],
  ])('is a permanent fault for %s', (_, any, fault) => {
    expect(permanentFault(refused(any))).toBeInstanceOf(fault);
  });

  it('leaves no outcome unknown for a bad request, whatever the text of its status', () => {
    const error = refused(details(BadRequestSchema), 'BadRequest');
    expect(permanentFault(error)).toMatchObject({ code: 'store-unavailable' });
    expect(isOutcomeUnknown(refused(details(BadRequestSchema), 'NotReady'))).toBe(false);
  });

  it('has the reason of a bad request, whatever the text beside it', () => {
    const error = refused(details(BadRequestSchema, { message: 'no stream' }), 'another text');
    expect(permanentFault(error)?.message).toMatch(/^the event store refuses: .*no stream$/u);
  });

  it('leaves the outcome unknown after an internal error, and when it has no result', () => {
    const value = { code: Code.INTERNAL, message: 'failed', details: details(EmptySchema) };
    const failed = answered({ result: { case: 'error', value } }).result;
    for (const error of [failed, answered({}).result]) {
      expect(permanentFault(error)).toBeUndefined();
      expect(isOutcomeUnknown(error)).toBe(true);
      expect(isConnectionLost(error)).toBe(false);
    }
  });

  it('leaves the outcome unknown when the commit took too long', () => {
    const error = refused(details(TimeoutSchema));
    expect(permanentFault(error)).toBeUndefined();
    expect(isOutcomeUnknown(error)).toBe(true);
  });

  it('is an error when it has no result', () => {
    expect(answered({}).result).toBeInstanceOf(Error);
  });
});
