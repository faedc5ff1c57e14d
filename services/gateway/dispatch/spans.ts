import { ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, trace, type Tracer } from '@opentelemetry/api';

import { rpcFailureOf, statuses } from '../status.js';
import type { DispatchedCall } from './call.js';
import type { Interceptor } from './dispatch.js';
import { traceContextIn, traceParentOf } from './trace-context.js';

/** Names of https://opentelemetry.io/docs/specs/semconv/rpc/grpc/, for both transports. */
const begin = (tracer: Tracer, { endpoint: { method }, transport, traceParent, requestId }: DispatchedCall): Span => {
  const parent = traceContextIn(traceParent);
  const attributes = {
    'rpc.system': 'grpc',
    'rpc.service': method.parent.typeName,
    'rpc.method': method.name,
    'flightlog.transport': transport,
    'flightlog.request_id': requestId,
  };
  return tracer.startSpan(
    `${method.parent.typeName}/${method.name}`,
    { kind: SpanKind.SERVER, attributes },
    parent ? trace.setSpanContext(ROOT_CONTEXT, { ...parent, isRemote: true }) : ROOT_CONTEXT,
  );
};

/** Of the status codes that this server answers with, those that the semantic conventions count as its errors. */
const IS_ERROR = new Set(['DEADLINE_EXCEEDED', 'UNIMPLEMENTED', 'INTERNAL', 'UNAVAILABLE']);

const fail = (span: Span, thrown: unknown, { endpoint: { method } }: DispatchedCall): void => {
  const { code } = rpcFailureOf(thrown, method);
  span.setAttribute('rpc.grpc.status_code', statuses[code].number);
  if (IS_ERROR.has(code)) span.setStatus({ code: SpanStatusCode.ERROR, message: code });
};

/**
 * Makes one OpenTelemetry span for each call, a child of the caller's span if it sends one. The events of the call and
 * its line in the request log carry the trace context of this span.
 */
export const spans =
  (tracer: Tracer): Interceptor =>
  async (call, next) => {
    const span = begin(tracer, call);
    call.traceParent = traceParentOf(span.spanContext());
    try {
      const answer = await next();
      span.setAttribute('rpc.grpc.status_code', 0);
      return answer;
    } catch (thrown) {
      fail(span, thrown, call);
      throw thrown;
    } finally {
      span.end();
    }
  };
