import type { Tracer } from '@opentelemetry/api';

/** The traced share of requests, and the address of the collector. */
export type TracingOptions = {
  /** The base URL of an OpenTelemetry collector, which takes OTLP over HTTP; empty where nothing is traced. */
  readonly endpoint: string;
  /** The share of traces that are sampled, 0 to 1; the decision of a caller with a trace of its own is kept. */
  readonly sampleRatio: number;
  readonly version: string;
};

/** The tracer of this process. */
export interface Tracing {
  readonly tracer: Tracer;
  /** Sends the spans that are left; gives up when the collector does not answer in time. */
  readonly close: () => Promise<void>;
}

/** In milliseconds: the longest wait for the collector, also when the process ends. */
const EXPORT_TIMEOUT_MS = 5_000;

/** Opens tracing; `undefined` when it is off, and then neither the SDK nor the exporter is loaded. */
export const openTracing = async (options: TracingOptions): Promise<Tracing | undefined> => {
  const { endpoint, sampleRatio, version } = options;
  if (endpoint === '') return undefined;
  const [sdk, { OTLPTraceExporter }, { resourceFromAttributes }] = await Promise.all([
    import('@opentelemetry/sdk-trace-base'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/resources'),
  ]);
  const exporter = new OTLPTraceExporter({ url: `${endpoint}/v1/traces`, timeoutMillis: EXPORT_TIMEOUT_MS });
  const provider = new sdk.BasicTracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'flightlog', 'service.version': version }),
    sampler: new sdk.ParentBasedSampler({ root: new sdk.TraceIdRatioBasedSampler(sampleRatio) }),
    spanProcessors: [new sdk.BatchSpanProcessor(exporter, { exportTimeoutMillis: EXPORT_TIMEOUT_MS })],
  });
  return {
    tracer: provider.getTracer('flightlog', version),
    close: () => provider.shutdown().catch(() => undefined), // spans that cannot be sent are lost
  };
};
