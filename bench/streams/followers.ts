import { get } from 'node:http';
import { connect } from 'node:http2';
import { frameOf, HEAD_BYTES } from '../../services/kernel/encoding/grpc-frame.js';
import { percentile } from '../percentile.js';

/** A stream to read: Server-Sent Events, or the messages of a gRPC call with a request in base64. */
export type FollowedStream =
  | { readonly url: string }
  | { readonly address: string; readonly path: string; readonly request: string };

/** Order for the followers, a process of its own: to read streams, or to report when `expected` events have arrived. */
export type FollowOrder = { readonly streams: readonly FollowedStream[] } | { readonly expected: number };

/** The events that all followers together have received since the last report. */
export type Followed = {
  readonly events: number;
  /** Percentiles of the time from the recording of an event to its arrival here. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Events that did not come after the one before them on their connection. */
  readonly outOfOrder: number;
};

const BLOCK_END = Buffer.from('\n\n');
const RECORDED_AT = Buffer.from('"recordedAt":"');
const TIME_LENGTH = '2026-03-02T09:58:16.123Z'.length;
const LINE_END = 0x0a;
/** Each byte of a varint has seven bits of the number; in the last byte the eighth bit is 0. */
const VARINT_BASE = 128;
/** The beginning of the first line of an event in Server-Sent Events; the position follows. */
const ID = 'id: ';
/** The beginning of the line after the id, for an event of the log and for a change of an execution. */
const COUNTED = ['event: event', 'event: chang'];
const COUNTED_LENGTH = 'event: event'.length;
/** The delivery time is measured for one in this number of events: measuring must cost less than sending. */
const TIMED = 8;

let samples: number[] = [];
let [received, outOfOrder] = [0, 0];

/** Counts an event at a position, where `last` is that of the event before on its connection; returns the position. */
const count = (event: Buffer, position: number, last: number): number => {
  if (position <= last) outOfOrder += 1;
  received += 1;
  if (received % TIMED === 0) {
    const at = event.indexOf(RECORDED_AT) + RECORDED_AT.length;
    samples.push(Date.now() - Date.parse(event.toString('latin1', at, at + TIME_LENGTH)));
  }
  return position;
};

/** Counts the event in a block of lines, if there is one; returns the position that its connection has reached. */
const countBlock = (block: Buffer, last: number): number => {
  const end = block.indexOf(LINE_END);
  if (!COUNTED.includes(block.toString('latin1', end + 1, end + 1 + COUNTED_LENGTH))) return last;
  return count(block, Number(block.toString('latin1', ID.length, end)), last);
};

/** Counts the event in a message of a tail: its position in field 1, its event in field 2. */
const countMessage = (message: Buffer, last: number): number => {
  let [position, at, scale] = [0, 1, 1]; // `at` is after the tag of the position
  for (let byte = message[at] ?? 0; ; byte = message[at] ?? 0) {
    position += (byte % VARINT_BASE) * scale;
    scale *= VARINT_BASE;
    at += 1;
    if (byte < VARINT_BASE) break;
  }
  return at === message.length ? last : count(message, position, last);
};

/** Counts the whole messages at the beginning of the bytes; returns the bytes after them, and the position reached. */
type Take = (bytes: Buffer, last: number) => readonly [rest: Buffer, last: number];

const takeBlocks: Take = (bytes, before) => {
  let [from, last] = [0, before];
  for (let end = bytes.indexOf(BLOCK_END); end >= 0; end = bytes.indexOf(BLOCK_END, from)) {
    last = countBlock(bytes.subarray(from, end), last);
    from = end + BLOCK_END.length;
  }
  return [bytes.subarray(from), last];
};

const takeMessages: Take = (bytes, before) => {
  let [from, last] = [0, before];
  while (bytes.length - from >= HEAD_BYTES) {
    const end = from + HEAD_BYTES + bytes.readUInt32BE(from + 1);
    if (end > bytes.length) break;
    last = countMessage(bytes.subarray(from + HEAD_BYTES, end), last);
    from = end;
  }
  return [bytes.subarray(from), last];
};

const read = (source: NodeJS.ReadableStream, take: Take, onFirst: () => void): void => {
  let rest: Buffer = Buffer.alloc(0);
  let last = 0;
  source.once('data', onFirst);
  source.on('data', (chunk: Buffer) => {
    [rest, last] = take(rest.length === 0 ? chunk : Buffer.concat([rest, chunk]), last);
  });
  source.on('error', (error) => {
    throw error;
  });
};

/** Reads one stream; `onFirst` is called when the first bytes have arrived. */
const follow = (stream: FollowedStream, onFirst: () => void): void => {
  if ('url' in stream) {
    get(stream.url, { agent: false }, (response) => read(response, takeBlocks, onFirst));
    return;
  }
  const request = connect(`http://${stream.address}`).request({
    ':method': 'POST',
    ':path': stream.path,
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  request.end(frameOf(Buffer.from(stream.request, 'base64')));
  read(request, takeMessages, onFirst);
};

const report = (): Followed => {
  const sorted = Float64Array.from(samples).sort();
  const followed = { events: received, p50Ms: percentile(sorted, 0.5), p99Ms: percentile(sorted, 0.99), outOfOrder };
  samples = [];
  [received, outOfOrder] = [0, 0];
  return followed;
};

const followAll = (streams: readonly FollowedStream[]): void => {
  let left = streams.length;
  const onFirst = (): void => {
    left -= 1;
    if (left === 0) process.send?.('ready');
  };
  for (const stream of streams) follow(stream, onFirst);
};

const reportAt = (expected: number): void => {
  const timer = setInterval(() => {
    if (received < expected) return;
    clearInterval(timer);
    process.send?.(report());
  }, 10);
};

process.on('message', (order: FollowOrder) => {
  if ('streams' in order) followAll(order.streams);
  else reportAt(order.expected);
});
