import { type ClientHttp2Session, connect, constants, type IncomingHttpHeaders } from 'node:http2';
import { percentile } from '../percentile.js';
import { readFrames } from './frames.js';

/**
 * Order for the load generator, a process of its own: it sends prepared gRPC frames over bare HTTP/2, `inFlight` at a
 * time, and counts the responses by status.
 */
export type LoadOrder = {
  readonly address: string;
  readonly path: string;
  /** The file of frames, as `writeFrames` writes it. */
  readonly framesFile: string;
  /** Index of the first frame that is sent, from 0. */
  readonly from: number;
  readonly count: number;
  readonly inFlight: number;
  /** Limits the average rate of requests; the first `inFlight` are sent at once. Unlimited by default. */
  readonly maxPerSecond?: number;
  /** Headers of each request, besides those of gRPC. */
  readonly headers?: Readonly<Record<string, string>>;
};

/** The result of a load; a time is that from the sending of a request to its response. */
export type LoadResult = {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /**
   * Number of responses by gRPC status code in digits, such as `0` for OK. `none` are those without a status, `broken`
   * those whose HTTP/2 stream failed.
   */
  readonly statuses: Readonly<Record<string, number>>;
  /** From the first request to the last response. */
  readonly seconds: number;
};

const CONNECTIONS = 4;

type Done = (status: string) => void;

type Headers = Readonly<Record<string, string>>;

const send = (session: ClientHttp2Session, headers: Headers, frame: Buffer, done: Done): void => {
  const request = session.request(headers);
  let status = 'none';
  request.on('response', (headers) => (status = String(headers['grpc-status'] ?? status)));
  request.on('trailers', (headers: IncomingHttpHeaders) => (status = String(headers['grpc-status'] ?? status)));
  request.on('error', () => (status = 'broken'));
  request.on('close', () => done(status));
  request.resume();
  request.end(frame);
};

const run = async ({
  address,
  path,
  framesFile,
  from,
  count,
  inFlight,
  maxPerSecond = Infinity,
  headers = {},
}: LoadOrder): Promise<LoadResult> => {
  const frames = readFrames(framesFile).slice(from, from + count);
  if (frames.length < count) throw new Error(`${framesFile} has ${frames.length} of ${count} requests from ${from} on`);
  const sent = {
    [constants.HTTP2_HEADER_METHOD]: 'POST',
    [constants.HTTP2_HEADER_PATH]: path,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...headers,
  };
  const sessions = Array.from({ length: CONNECTIONS }, () => connect(`http://${address}`));
  const took = new Float64Array(frames.length);
  const statuses: Record<string, number> = {};
  const started = performance.now();
  await new Promise<void>((resolve) => {
    let next = 0;
    let responses = 0;
    if (frames.length === 0) resolve();
    const sendNext = (): void => {
      const index = next++;
      const frame = frames[index];
      const session = sessions[index % CONNECTIONS];
      if (frame === undefined || session === undefined) return;
      const start = performance.now();
      send(session, sent, frame, (status) => {
        took[index] = performance.now() - start;
        statuses[status] = (statuses[status] ?? 0) + 1;
        responses += 1;
        if (responses === frames.length) resolve();
        else whenDue();
      });
    };
    const whenDue = (): void => {
      const dueInMs = started + (next * 1_000) / maxPerSecond - performance.now();
      if (dueInMs >= 1) setTimeout(whenDue, dueInMs);
      else sendNext();
    };
    for (let at = 0; at < inFlight; at += 1) sendNext();
  });
  const seconds = (performance.now() - started) / 1_000;
  for (const session of sessions) session.close();
  took.sort();
  return {
    perSecond: frames.length / seconds,
    p50Ms: percentile(took, 0.5),
    p99Ms: percentile(took, 0.99),
    statuses,
    seconds,
  };
};

process.once('message', (order: LoadOrder) => {
  void run(order).then((result) => process.send?.(result, () => process.exit(0)));
});
