/** The status codes of gRPC, each at its number: https://grpc.io/docs/guides/status-codes/ */
const NAMES = [
  'OK',
  'CANCELLED',
  'UNKNOWN',
  'INVALID_ARGUMENT',
  'DEADLINE_EXCEEDED',
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'PERMISSION_DENIED',
  'RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION',
  'ABORTED',
  'OUT_OF_RANGE',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DATA_LOSS',
  'UNAUTHENTICATED',
] as const;

/** The name of a status code. */
export type GrpcStatus = (typeof NAMES)[number];

/** The number of a status code, as it is sent. */
export const grpcStatusNumber = (status: GrpcStatus): number => NAMES.indexOf(status);

/** The status code with a number; UNKNOWN for a number that gRPC does not define. */
export const grpcStatusOf = (number: number): GrpcStatus => NAMES[number] ?? 'UNKNOWN';
