import type { DescMethodUnary } from '@bufbuild/protobuf';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';

import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import {
  type Cursor,
  DELIMITED,
  Malformed,
  readLength,
  readTag,
  readVarint64,
  skipValue,
} from '../../kernel/encoding/wire-cursor.js';
import { keptWriter } from '../../kernel/encoding/kept-writer.js';
import type { ItemAnswer } from '../../kernel/item.js';
import { RpcError } from '../../kernel/rpc.js';

/** A `ReportRequest` whose event is not decoded. */
export type ReportedEvent = {
  readonly sequence: bigint;
  /** The unary RPC of the event. Without an event it is any of them, because each refuses in the same words. */
  readonly method: DescMethodUnary;
  /** The encoded request of that RPC. */
  readonly request: Uint8Array;
};

const { createWorkflowEvent, createNodeEvent, createTaskEvent } = AdminService.method;

/** By the field number of the event in `ReportRequest`. */
const METHODS: readonly (DescMethodUnary | undefined)[] = [
  undefined,
  undefined,
  createWorkflowEvent,
  createNodeEvent,
  createTaskEvent,
];

const SEQUENCE = 1 << 3;
const ITEM = (1 << 3) | DELIMITED;
const NOTHING = new Uint8Array();

const delimited = (cursor: Cursor, end: number): Uint8Array => {
  const stop = readLength(cursor, end);
  const value = cursor.bytes.subarray(cursor.pos, stop);
  cursor.pos = stop;
  return value;
};

/** Reads by the rules of protobuf: of several events the last counts, and messages of one field are merged. */
const scan = (cursor: Cursor, end: number): ReportedEvent => {
  let sequence = 0n;
  let field = 0;
  let method: DescMethodUnary = createWorkflowEvent;
  let request: Uint8Array = NOTHING;
  while (cursor.pos < end) {
    const tag = readTag(cursor, end);
    const found = (tag & 7) === DELIMITED ? METHODS[tag >>> 3] : undefined;
    if (tag === SEQUENCE) sequence = readVarint64(cursor, end);
    else if (found) {
      const value = delimited(cursor, end);
      request = field === tag ? Buffer.concat([request, value]) : value;
      method = found;
      field = tag;
    } else skipValue(cursor, end, tag);
  }
  return { sequence: BigInt.asUintN(64, sequence), method, request };
};

const readable = <Answer>(described: () => string, read: () => Answer): Answer => {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof Malformed)) throw error;
    throw new RpcError('INVALID_ARGUMENT', `malformed ${described()}: ${error.message} at byte ${error.at}`);
  }
};

/**
 * Reads a `ReportRequest` without decoding its event.
 *
 * @throws {RpcError} INVALID_ARGUMENT when the bytes are malformed.
 */
export const reportedEvent = (bytes: Uint8Array): ReportedEvent =>
  readable(
    () => 'ReportRequest',
    () => scan({ bytes, pos: 0 }, bytes.length),
  );

/**
 * Reads the events of a `ReportBatchRequest` without decoding them.
 *
 * @param assertTaken is called with the index of each event and the size of the batch up to its end, in bytes.
 * @throws {RpcError} INVALID_ARGUMENT naming the event whose bytes are malformed.
 */
export const reportedEvents = (
  batch: Uint8Array,
  assertTaken: (index: number, bytes: number) => void,
): readonly ReportedEvent[] => {
  const events: ReportedEvent[] = [];
  const cursor = { bytes: batch, pos: 0 };
  const read = (): void => {
    while (cursor.pos < batch.length) {
      const tag = readTag(cursor, batch.length);
      if (tag === ITEM) {
        const end = readLength(cursor, batch.length);
        assertTaken(events.length, end);
        events.push(scan(cursor, end));
      } else skipValue(cursor, batch.length, tag);
    }
  };
  readable(() => `ReportBatchRequest.events[${events.length}]`, read);
  return events;
};

const encodeWith = keptWriter();

/** Encodes a `ReportResponse`. */
export const encodeResponse = (sequence: bigint, { status, position, retryAfterMs }: ItemAnswer): Uint8Array =>
  encodeWith((writer) => {
    if (sequence !== 0n) writer.tag(1, WireType.Varint).uint64(sequence);
    if (status) writer.tag(2, WireType.LengthDelimited).bytes(status);
    if (position !== '') writer.tag(3, WireType.LengthDelimited).string(position);
    if (retryAfterMs > 0) writer.tag(4, WireType.Varint).uint32(retryAfterMs);
  });

/** Encodes a `ReportBatchResponse` of encoded responses. */
export const encodeBatch = (responses: readonly Uint8Array[]): Uint8Array => {
  const writer = new BinaryWriter();
  for (const response of responses) writer.tag(1, WireType.LengthDelimited).bytes(response);
  return writer.finish();
};
