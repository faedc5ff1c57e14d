import { type DescMessage, fromBinary, type MessageShape } from '@bufbuild/protobuf';
import {
  AccessDeniedError,
  DeadlineExceededError,
  MaxAppendSizeExceededError,
  StreamDeletedError,
  UnknownError,
  WrongExpectedVersionError,
} from '@eventstore/db-client';
import { status } from '@grpc/grpc-js';
import { BatchAppendRespSchema } from '../../../../proto/gen/event_store/client/streams_pb.js';
import {
  BadRequestSchema,
  MaximumAppendSizeExceededSchema,
  type Status,
  WrongExpectedVersionSchema,
} from '../../../../proto/gen/event_store/client/values_pb.js';
import type { Appended } from '../../../kernel/ports/event-store.js';
import { delimited, eachField, fieldIn, lastNumberIn, type Range, varint } from './fields.js';

/** The answer to one append of a batch stream. */
export type AppendAnswer = { readonly correlation: number; readonly result: Appended | Error };

/** The tags of `BatchAppendResp` and of the messages in it. */
const ANSWER = { correlation: delimited(1), error: delimited(2), success: delimited(3) };
const STRUCTURED = delimited(1);
const LOW_BITS = varint(2);
const SUCCESS = { revision: varint(1), position: delimited(3) };
const COMMIT = varint(1);

const INTERNAL: number = status.INTERNAL;

type Details = NonNullable<Status['details']>;

const unpacked = <Desc extends DescMessage>(schema: Desc, { value }: Details): MessageShape<Desc> =>
  fromBinary(schema, value);

const conflict = (streamName: string, details: Details): Error => {
  const { currentStreamRevisionOption: current, expectedStreamPositionOption: expected } = unpacked(
    WrongExpectedVersionSchema,
    details,
  );
  return new WrongExpectedVersionError(null as never, {
    streamName,
    current: current.case === 'currentStreamRevision' ? current.value : 'no_stream',
    expected: expected.case === 'expectedStreamPosition' ? expected.value : 'any',
  });
};

/** The library's error for answers that it has no class for; faults are recognized by this text. */
const unknown = (message: string): Error => new UnknownError(undefined, `Could not recognize ${message}`);

/** The library's errors for the details of a refusal, by the last segment of the type name. */
const REFUSALS: Readonly<Record<string, (stream: string, details: Details) => Error>> = {
  WrongExpectedVersion: conflict,
  StreamDeleted: (stream) => StreamDeletedError.fromStreamName(stream),
  AccessDenied: () => new AccessDeniedError(),
  Timeout: () => new DeadlineExceededError(),
  Unknown: () => new UnknownError(),
  BadRequest: (_, details) => unknown(`BadRequest: ${unpacked(BadRequestSchema, details).message}`),
  MaximumAppendSizeExceeded: (_, details) =>
    MaxAppendSizeExceededError.fromMaxAppendSize(unpacked(MaximumAppendSizeExceededSchema, details).maxAppendSize),
};

const refusal = (bytes: Buffer): Error => {
  const { result, streamIdentifier } = fromBinary(BatchAppendRespSchema, bytes);
  const { code, message = '', details } = result.case === 'error' ? result.value : {};
  const known = REFUSALS[details?.typeUrl.split('.').at(-1) ?? ''];
  const stream = Buffer.from(streamIdentifier?.streamName ?? []).toString();
  if (known && details) return known(stream, details);
  return unknown(code === INTERNAL ? `InternalError: ${message}` : message);
};

const placeIn = (bytes: Buffer, success: Range): Appended => ({
  revision: lastNumberIn(bytes, success, SUCCESS.revision),
  position: lastNumberIn(bytes, fieldIn(bytes, success, SUCCESS.position), COMMIT),
});

/**
 * Decodes one answer of a batch stream.
 *
 * @returns the revision and position of the append, or the library's error for its refusal.
 * @throws {Error} when the bytes are malformed.
 */
export const appendAnswer = (bytes: Buffer): AppendAnswer => {
  let correlation = 0;
  let result: Appended | Error | undefined;
  eachField(bytes, { start: 0, end: bytes.length }, (tag, range) => {
    if (tag === ANSWER.correlation)
      correlation = Number(lastNumberIn(bytes, fieldIn(bytes, range, STRUCTURED), LOW_BITS));
    else if (tag === ANSWER.success) result = placeIn(bytes, range);
    else if (tag === ANSWER.error) result = refusal(bytes);
  });
  return { correlation, result: result ?? unknown('NoResult') };
};
