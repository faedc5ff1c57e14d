import { create, type DescMessage, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { type Any, AnySchema, EmptySchema as GoogleEmpty } from '@bufbuild/protobuf/wkt';
import { status } from '@grpc/grpc-js';
import { BatchAppendRespSchema } from '../../../proto/gen/event_store/client/streams_pb.js';
import {
  BadRequestSchema,
  MaximumAppendSizeExceededSchema,
  StreamDeletedSchema,
  TimeoutSchema,
  type UUID,
  WrongExpectedVersionSchema,
} from '../../../proto/gen/event_store/client/values_pb.js';
import { type Expected, MAX_APPEND_BYTES, type Outcome } from './streams.js';
import { empty, encoded, positionFields, streamIdentifier } from './wire.js';

/** The part of an append of a batch stream that its answer repeats. */
export type Named = {
  readonly correlationId: UUID | undefined;
  readonly stream: string;
  readonly expected?: Expected;
};

/** The failure of one append of a batch. */
export type Failed = {
  readonly kind: 'failed';
  readonly code: number;
  readonly message: string;
  readonly details: Any;
};

/** A message as the detail of a status. */
const packed = <Desc extends DescMessage>(schema: Desc, message: MessageInitShape<Desc>): Any =>
  create(AnySchema, {
    typeUrl: `type.googleapis.com/${schema.typeName}`,
    value: toBinary(schema, create(schema, message)),
  });

const failure = (code: number, message: string, details: Any): Failed => ({ kind: 'failed', code, message, details });

/** Failures that do not depend on the log. */
export const failed = {
  timeout: () => failure(status.DEADLINE_EXCEEDED, 'Timeout', packed(TimeoutSchema, {})),
  badRequest: (message: string) =>
    failure(status.INVALID_ARGUMENT, 'Bad Request', packed(BadRequestSchema, { message })),
  tooLarge: () =>
    failure(
      status.INVALID_ARGUMENT,
      'Maximum Append Size Exceeded',
      packed(MaximumAppendSizeExceededSchema, { maxAppendSize: MAX_APPEND_BYTES }),
    ),
} as const;

/** The expected revision, as the answer repeats it. */
const expectedOption = (expected: Expected | undefined) => {
  if (typeof expected === 'bigint') return { case: 'expectedStreamPosition', value: expected } as const;
  const names = {
    any: 'expectedAny',
    'no-stream': 'expectedNoStream',
    'stream-exists': 'expectedStreamExists',
  } as const;
  return { case: names[expected ?? 'any'], value: empty } as const;
};

const wrongVersion = (current: bigint | undefined, expected: Expected | undefined): Failed =>
  failure(
    status.ALREADY_EXISTS,
    'Wrong Expected Version',
    packed(WrongExpectedVersionSchema, {
      currentStreamRevisionOption:
        current === undefined
          ? { case: 'currentNoStream', value: empty }
          : { case: 'currentStreamRevision', value: current },
      expectedStreamPositionOption: expectedOption(expected),
    }),
  );

/** The failure for an outcome that is not `written`. */
const failureOf = ({ stream, expected }: Named, outcome: Exclude<Outcome, { kind: 'written' }>): Failed => {
  if (outcome.kind === 'wrong-version') return wrongVersion(outcome.current, expected);
  if (outcome.kind === 'timeout') return failed.timeout();
  if (outcome.kind === 'deleted')
    return failure(
      status.NOT_FOUND,
      'Stream Deleted',
      packed(StreamDeletedSchema, { streamIdentifier: streamIdentifier(stream) }),
    );
  // The real server does not set the code here.
  return failure(status.OK, 'Server Is Not Ready', packed(GoogleEmpty, {}));
};

const resultOf = (
  named: Named,
  outcome: Outcome | Failed,
): MessageInitShape<typeof BatchAppendRespSchema>['result'] => {
  if (outcome.kind === 'written')
    return {
      case: 'success',
      value: {
        currentRevisionOption:
          outcome.revision === undefined
            ? { case: 'noStream', value: empty }
            : { case: 'currentRevision', value: outcome.revision },
        positionOption: { case: 'position', value: positionFields(outcome.position) },
      },
    };
  const { code, message, details } = outcome.kind === 'failed' ? outcome : failureOf(named, outcome);
  return { case: 'error', value: { code, message, details } };
};

/** The answer to one append of a batch, as bytes. */
export const batchAnswer = (named: Named, outcome: Outcome | Failed): Buffer => {
  const result = resultOf(named, outcome);
  return encoded(BatchAppendRespSchema, {
    ...(named.correlationId && { correlationId: named.correlationId }),
    streamIdentifier: streamIdentifier(named.stream),
    ...(result && { result }),
  });
};
