import { fromBinary } from '@bufbuild/protobuf';
import { type Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { StatusSchema } from '../proto/gen/google/rpc/status_pb.js';
import { type EventFailureReason, EventFailureReasonSchema } from '../proto/gen/platformidl/admin/event_pb.js';

/** A call failed with a status that is not retried, or after the last retry. */
export class CallError extends Error {
  readonly code: status;
  readonly reason: EventFailureReason | undefined;
  /** Number of retries before this answer. */
  readonly repeats: number;

  constructor(error: ServiceError, repeats: number) {
    super(error.details, { cause: error });
    this.name = 'CallError';
    this.code = error.code;
    this.repeats = repeats;
    this.reason = error.code === status.FAILED_PRECONDITION ? reasonIn(error.metadata) : undefined;
  }
}

/** The engine is stopping. */
export class EngineStopped extends Error {
  override readonly name = 'EngineStopped';
}

const reasonIn = (metadata: Metadata): EventFailureReason | undefined => {
  const [bytes] = metadata.get('grpc-status-details-bin');
  if (!Buffer.isBuffer(bytes)) return undefined;
  const detail = fromBinary(StatusSchema, bytes).details.find((each) => each.typeUrl.endsWith('.EventFailureReason'));
  return detail ? fromBinary(EventFailureReasonSchema, detail.value) : undefined;
};

const PASSING: ReadonlySet<status> = new Set([
  status.UNAVAILABLE,
  status.DEADLINE_EXCEEDED,
  status.CANCELLED,
  status.ABORTED,
  status.UNKNOWN,
]);

/** A call with fewer retries than this is retried after INTERNAL, which may be a defect or a broken connection. */
const INTERNAL_RETRIES = 6;

/** True when a retry with the same bytes, after so many retries, may get another answer. */
export const isRetryableError = (error: ServiceError, retries: number): boolean => {
  if (error.code === status.RESOURCE_EXHAUSTED) return !error.details.includes('message larger than max');
  return PASSING.has(error.code) || (error.code === status.INTERNAL && retries < INTERNAL_RETRIES);
};
