// https://www.w3.org/TR/trace-context/#traceparent-header: later versions may add fields after the flags.
const TRACE_PARENT = /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(-.*)?$/;

/** A position in a distributed trace, as the `traceparent` header has it. */
export type TraceContext = {
  /** 32 lower-case hexadecimal digits. */
  readonly traceId: string;
  /** 16 lower-case hexadecimal digits: the operation that the next ones belong to. */
  readonly spanId: string;
  /** Eight bits; the lowest says that the trace is sampled. */
  readonly traceFlags: number;
};

/**
 * Parses the `traceparent` header of W3C Trace Context; `undefined` when it is absent or invalid, as the specification
 * asks: the request is then served as if it had none.
 */
export const traceContextIn = (header: string | undefined): TraceContext | undefined => {
  if (header === undefined) return undefined;
  const [, version, traceId, spanId, flags = '', more] = TRACE_PARENT.exec(header) ?? [];
  if (traceId === undefined || spanId === undefined || (version === '00' && more !== undefined)) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) };
};

/** Formats a position in a trace as a `traceparent` of version 00: 55 characters. */
export const traceParentOf = ({ traceId, spanId, traceFlags }: TraceContext): string =>
  `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;

/** The `traceparent` of a caller in its shape of version 00; `undefined` when it is absent or invalid. */
export const givenTraceParent = (header: string | undefined): string | undefined => {
  const context = traceContextIn(header);
  return context && traceParentOf(context);
};
