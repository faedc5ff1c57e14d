import { create, type DescMessage, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { type Any, AnySchema } from '@bufbuild/protobuf/wkt';
import {
  type BatchAppendReq_Options as Options,
  BatchAppendRespSchema,
} from '../../../../proto/gen/event_store/client/streams_pb.js';
import {
  AccessDeniedSchema,
  BadRequestSchema,
  type Empty,
  EmptySchema,
  MaximumAppendSizeExceededSchema,
  StreamDeletedSchema,
  TimeoutSchema,
  type UUID,
  WrongExpectedVersionSchema,
} from '../../../../proto/gen/event_store/client/values_pb.js';
import { MAX_APPEND_BYTES } from '../../../kernel/ports/event-store.js';
import { AppendTooLarge } from '../../../kernel/fault.js';
import type { AppendResult } from './append.js';
import { empty, encodedMessage } from '../codec.js';
import { callFailureOf, StreamTombstoned, WrongVersion } from '../failure.js';
import { type GrpcStatus, grpcStatusNumber } from '../../../kernel/grpc-status.js';
import { positionFields } from '../recorded.js';

/** The parts of a batch append request that its answer repeats. */
export type BatchAppendRequest = { readonly correlationId: UUID | undefined; readonly options: Options };

const packed = <Desc extends DescMessage>(schema: Desc, message: MessageInitShape<Desc>): Any =>
  create(AnySchema, {
    typeUrl: `type.googleapis.com/${schema.typeName}`,
    value: toBinary(schema, create(schema, message)),
  });

/** The expected revision of a request: `echo` for all answers, `wrong` for the details of a conflict. */
const expectedEcho = ({ expectedStreamPosition: expected }: Options) => {
  const { case: name, value } = expected;
  if (name === undefined) return { echo: {}, wrong: {} };
  const echo = { expectedStreamPosition: expected };
  if (name === 'streamPosition')
    return { echo, wrong: { expectedStreamPositionOption: { case: 'expectedStreamPosition', value } as const } };
  const names = { noStream: 'expectedNoStream', any: 'expectedAny', streamExists: 'expectedStreamExists' } as const;
  return { echo, wrong: { expectedStreamPositionOption: { case: names[name], value: empty } as const } };
};

const wrongVersion = ({ current, message }: WrongVersion, options: Options) => ({
  code: grpcStatusNumber('ALREADY_EXISTS'),
  message,
  details: packed(WrongExpectedVersionSchema, {
    currentStreamRevisionOption:
      current === undefined
        ? { case: 'currentNoStream', value: empty }
        : { case: 'currentStreamRevision', value: current },
    ...expectedEcho(options).wrong,
  }),
});

const DETAILS: Partial<Record<GrpcStatus, (message: string) => Any>> = {
  PERMISSION_DENIED: () => packed(AccessDeniedSchema, {}),
  INVALID_ARGUMENT: (message) => packed(BadRequestSchema, { message }),
  DEADLINE_EXCEEDED: () => packed(TimeoutSchema, {}),
};

/**
 * Describes the failure of one append of a batch, always with details: official clients fail when there are none. The
 * codes of a conflict and of a deleted stream differ from those of `callFailureOf`, which end a call.
 */
const errorOf = (thrown: unknown, options: Options) => {
  if (thrown instanceof WrongVersion) return wrongVersion(thrown, options);
  const { code: status, details: message } = callFailureOf(thrown);
  const code = grpcStatusNumber(status);
  if (thrown instanceof StreamTombstoned)
    return {
      code: grpcStatusNumber('NOT_FOUND'),
      message,
      details: packed(StreamDeletedSchema, { streamIdentifier: options.streamIdentifier }),
    };
  if (thrown instanceof AppendTooLarge)
    return { code, message, details: packed(MaximumAppendSizeExceededSchema, { maxAppendSize: MAX_APPEND_BYTES }) };
  return { code, message, details: DETAILS[status]?.(message) ?? packed(EmptySchema, {}) };
};

/** The fields that the answers of Append and BatchAppend have in common. */
type WrittenFields = {
  readonly currentRevisionOption:
    | { readonly case: 'noStream'; readonly value: Empty }
    | { readonly case: 'currentRevision'; readonly value: bigint };
  readonly positionOption: { readonly case: 'position'; readonly value: ReturnType<typeof positionFields> };
};

/** Converts the result of an append for an answer. */
export const writtenFields = ({ revision, position }: AppendResult): WrittenFields => ({
  currentRevisionOption:
    revision === undefined ? { case: 'noStream', value: empty } : { case: 'currentRevision', value: revision },
  positionOption: { case: 'position', value: positionFields(position) },
});

const answerTo = (
  { correlationId, options }: BatchAppendRequest,
  result: MessageInitShape<typeof BatchAppendRespSchema>['result'],
) =>
  encodedMessage(BatchAppendRespSchema, {
    ...(correlationId && { correlationId }),
    streamIdentifier: options.streamIdentifier ?? { streamName: new Uint8Array() },
    ...expectedEcho(options).echo,
    ...(result && { result }),
  });

/** Encodes the answer to an append that was written. */
export const successAnswer = (request: BatchAppendRequest, written: AppendResult): Buffer =>
  answerTo(request, { case: 'success', value: writtenFields(written) });

/** Encodes the answer to a failed append, always with stream and details: official clients fail without either. */
export const failureAnswer = (request: BatchAppendRequest, thrown: unknown): Buffer =>
  answerTo(request, { case: 'error', value: errorOf(thrown, request.options) });
