import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { status as GrpcStatus } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { dispatcher } from '../../../services/gateway/dispatch/dispatch.js';
import { spans } from '../../../services/gateway/dispatch/spans.js';
import { traceContextIn } from '../../../services/gateway/dispatch/trace-context.js';
import { RpcError } from '../../../services/kernel/rpc.js';
import { openTracing } from '../../../services/tracing/otlp.js';
import { callOf } from '../gateway/dispatch/calls.js';

/** The codes of OpenTelemetry for the status of a span. */
const SPAN_STATUS = { unset: 0, error: 2 } as const;

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';

type Attribute = { readonly key: string; readonly value: Readonly<Record<string, unknown>> };
type SentSpan = {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly attributes: readonly Attribute[];
  readonly status: { readonly code: number };
};
type Sent = {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly SentSpan[] }[];
  }[];
};

const valuesOf = (attributes: readonly Attribute[]) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

describe('spans of requests', () => {
  const received: { path: string | undefined; sent: Sent }[] = [];
  const collector = createServer((request, response) => {
    void buffer(request).then((body) => {
      received.push({ path: request.url, sent: JSON.parse(body.toString()) as Sent });
      response.end('{}');
    });
  });
  const endpoint = () => `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;

  beforeAll(async () => {
    collector.listen(0, '127.0.0.1');
    await once(collector, 'listening');
  });
  afterAll(() => collector.close());

  /** Makes a call with tracing; gives the call, the spans that the collector has received, and the first of them. */
  const traced = async (sampleRatio: number, headers = {}, refusal?: RpcError) => {
    received.length = 0;
    const tracing = await openTracing({ endpoint: endpoint(), sampleRatio, version: '1.2.3' });
    const call = callOf(AdminService.method.createTask, { headers });
    const answer = () => (refusal ? Promise.reject(refusal) : Promise.resolve(''));
    await dispatcher([spans(tracing!.tracer)])(call, answer).catch(() => undefined);
    await tracing!.close();
    const [group] = received.flatMap(({ sent }) => sent.resourceSpans);
    return { call, group, span: group?.scopeSpans[0]?.spans[0] };
  };

  it('are sent to the collector as children of the span of the caller, one for each request', async () => {
    const headers = { traceparent: `00-${TRACE}-${SPAN}-01`, 'x-request-id': 'r1' };
    const { call, group, span } = await traced(0, headers); // the caller has decided that the trace is sampled
    expect(received.map(({ path }) => path)).toEqual(['/v1/traces']);
    expect(group!.scopeSpans.flatMap(({ spans: sent }) => sent)).toHaveLength(1);
    expect(valuesOf(group!.resource.attributes)).toMatchObject({
      'service.name': 'flightlog',
      'service.version': '1.2.3',
    });
    expect(span).toMatchObject({
      traceId: TRACE,
      parentSpanId: SPAN,
      name: 'platformidl.service.AdminService/CreateTask',
    });
    expect(valuesOf(span!.attributes)).toEqual({
      'rpc.system': 'grpc',
      'rpc.service': 'platformidl.service.AdminService',
      'rpc.method': 'CreateTask',
      'rpc.grpc.status_code': 0,
      'flightlog.transport': 'grpc',
      'flightlog.request_id': 'r1',
    });
    expect(traceContextIn(call.traceParent)).toEqual({ traceId: TRACE, spanId: span!.spanId, traceFlags: 1 });
  });

  it.each([
    ['UNAVAILABLE', GrpcStatus.UNAVAILABLE, SPAN_STATUS.error],
    ['NOT_FOUND', GrpcStatus.NOT_FOUND, SPAN_STATUS.unset],
  ] as const)('have the status %s, and are errors only when the server is at fault', async (code, grpc, status) => {
    const { span } = await traced(1, {}, new RpcError(code, 'no'));
    expect(valuesOf(span!.attributes)['rpc.grpc.status_code']).toBe(grpc);
    expect(span!.status.code).toBe(status);
  });

  it('begin a trace when the caller has none; the call carries its context for the events it records', async () => {
    const { call, span } = await traced(1);
    expect(span!.parentSpanId ?? '').toBe('');
    expect(traceContextIn(call.traceParent)).toMatchObject({ traceId: span!.traceId, spanId: span!.spanId });
  });

  it('are not sent when their trace is not sampled', async () => {
    expect((await traced(0)).group).toBeUndefined();
    expect((await traced(1, { traceparent: `00-${TRACE}-${SPAN}-00` })).group).toBeUndefined();
  });

  it('are not made without an endpoint', async () =>
    expect(await openTracing({ endpoint: '', sampleRatio: 1, version: '1' })).toBeUndefined());
});
