import { type ClientHttp2Stream, connect, constants } from 'node:http2';
import { HEAD_BYTES } from '../../services/kernel/encoding/grpc-frame.js';
import { percentile } from '../percentile.js';
import { readFrames } from './frames.js';

/** The messages of one stream: `count` of them from index `from` of the file, counted from 0. */
export type Share = { readonly from: number; readonly count: number };

/**
 * Order for the load generator of streams, a process of its own: it sends prepared messages over streams in both
 * directions, one for each share with messages, and counts the answers.
 */
export type StreamOrder = {
  readonly address: string;
  readonly path: string;
  /** The file of frames from `writeFrames`. The `sequence` of each message is its place in the file, from 1. */
  readonly framesFile: string;
  readonly shares: readonly Share[];
  /** Maximum number of messages without an answer, over all streams; a multiple of their number. */
  readonly inFlight: number;
  /** Limits the average rate of messages over all streams. Unlimited by default. */
  readonly maxPerSecond?: number;
};

/** The result of a load; a time is that from the sending of a message to its answer. */
export type StreamResult = {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** The number of answers with a status. */
  readonly failures: number;
};

const CONNECTIONS = 4;
/** The byte after the sequence in an answer with a status: the tag of field 2, length-delimited (wire type 2). */
const STATUS_TAG = (2 << 3) | 2;

/** Calls `onMessage` with each whole message of a stream. */
const split = (stream: ClientHttp2Stream, onMessage: (message: Buffer) => void): void => {
  let rest: Buffer = Buffer.alloc(0);
  stream.on('data', (chunk: Buffer) => {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let at = 0;
    while (bytes.length - at >= HEAD_BYTES) {
      const end = at + HEAD_BYTES + bytes.readUInt32BE(at + 1);
      if (end > bytes.length) break;
      onMessage(bytes.subarray(at + HEAD_BYTES, end));
      at = end;
    }
    rest = bytes.subarray(at);
  });
};

/** Reads the sequence, a varint in the first field of a message, and the tag of the field after it, if there is one. */
const sequenceIn = (message: Buffer): { readonly sequence: number; readonly next: number | undefined } => {
  let sequence = 0;
  let at = 1; // after the tag of the sequence
  for (let shift = 0; ; shift += 7) {
    const byte = message[at++] ?? 0;
    sequence |= (byte & 0x7f) << shift;
    if (byte < 0x80) return { sequence, next: message[at] };
  }
};

const run = async (order: StreamOrder): Promise<StreamResult> => {
  const { address, path, shares, inFlight, maxPerSecond = Infinity } = order;
  const frames = readFrames(order.framesFile);
  const sessions = Array.from({ length: CONNECTIONS }, () => connect(`http://${address}`));
  const took: number[] = [];
  let failures = 0;
  const started = performance.now();
  const runStream = ({ from, count }: Share, index: number): Promise<void> =>
    new Promise((resolve, reject) => {
      const stream = sessions[index % CONNECTIONS]?.request({
        [constants.HTTP2_HEADER_METHOD]: 'POST',
        [constants.HTTP2_HEADER_PATH]: path,
        'content-type': 'application/grpc',
        te: 'trailers',
      });
      if (!stream) return;
      const sentAt = new Float64Array(frames.length + 1);
      let [next, responses] = [from, 0];
      const send = (): void => {
        const frame = frames[next];
        if (next === from + count || !frame) return;
        next += 1;
        sentAt[next] = performance.now();
        stream.write(frame);
      };
      const whenDue = (): void => {
        const dueInMs = started + ((next - from) * shares.length * 1_000) / maxPerSecond - performance.now();
        if (dueInMs >= 1) setTimeout(whenDue, dueInMs);
        else send();
      };
      split(stream, (message) => {
        const { sequence, next: tag } = sequenceIn(message);
        took.push(performance.now() - (sentAt[sequence] ?? 0));
        if (tag === STATUS_TAG) failures += 1;
        responses += 1;
        if (responses === count) stream.end();
        else whenDue();
      });
      stream.on('error', reject);
      stream.on('close', () => {
        if (responses === count) resolve();
        else reject(new Error(`a stream ended after ${responses} of ${count} responses`));
      });
      for (let at = 0; at < inFlight / shares.length; at += 1) send();
    });
  await Promise.all(shares.filter(({ count }) => count > 0).map(runStream));
  const seconds = (performance.now() - started) / 1_000;
  for (const session of sessions) session.close();
  const sorted = Float64Array.from(took).sort();
  return {
    perSecond: took.length / seconds,
    p50Ms: percentile(sorted, 0.5),
    p99Ms: percentile(sorted, 0.99),
    failures,
  };
};

process.once('message', (order: StreamOrder) => {
  void run(order).then((result) => process.send?.(result, () => process.exit(0)));
});
