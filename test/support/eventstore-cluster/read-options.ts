import type { ServerWritableStream } from '@grpc/grpc-js';
import type { ReadReq_Options as Options } from '../../../proto/gen/event_store/client/streams_pb.js';
import type { Node } from './node.js';
import { notAPosition, unhandled } from './refusals.js';
import type { IdForm } from './wire.js';

/** The call of a read, to which answers are written. */
export type ReadCall = ServerWritableStream<Buffer, Buffer>;

/** The start of a read. */
export type From = 'start' | 'end' | bigint;

/** The revision or position by which clients name the end: the greatest unsigned 64-bit integer. */
const END = 2n ** 64n - 1n;

/** The start of a read at a revision or position that a client names. */
const placed = (value: bigint): From => (value === END ? 'end' : value);

/**
 * The start of a read of the log.
 *
 * @throws when the prepare position is after the commit position: no event has such a position.
 */
export const positionOf = ({ streamOption }: Options): From => {
  if (streamOption.case !== 'all') return 'start';
  const { allOption } = streamOption.value;
  if (allOption.case !== 'position') return allOption.case ?? 'start';
  const { commitPosition, preparePosition } = allOption.value;
  if (preparePosition > commitPosition) throw unhandled();
  return placed(commitPosition);
};

/** The start of a read of a stream. */
export const revisionOf = ({ streamOption }: Options): From => {
  if (streamOption.case !== 'stream') return 'start';
  const { revisionOption } = streamOption.value;
  return revisionOption.case === 'revision' ? placed(revisionOption.value) : (revisionOption.case ?? 'start');
};

/** The form in which the reader wants the ids of events. */
export const formOf = ({ uuidOption }: Options): IdForm =>
  uuidOption?.content.case === 'structured' ? 'structured' : 'string';

/** The stream that is read; `undefined` for a read of the whole log. */
export const streamOf = ({ streamOption }: Options): string | undefined =>
  streamOption.case === 'stream'
    ? Buffer.from(streamOption.value.streamIdentifier?.streamName ?? []).toString()
    : undefined;

/**
 * @throws when no record begins at the position. Allowed are also 0, the end, and for a read forwards any position
 * beyond the end.
 */
export const assertEventPosition = ({ log, replica }: Node, position: bigint, isBackwards = false): void => {
  const end = replica.end();
  if (position === 0n || position === end || (position > end && !isBackwards)) return;
  if (position > end || !log.isRecord(position)) throw notAPosition();
};

/** The promises of {@link goneOf}. */
const departures = new WeakMap<ReadCall, Promise<boolean>>();

/** Resolves to `false` when the reader disconnects; one promise for each call. */
const goneOf = (call: ReadCall): Promise<boolean> => {
  const known =
    departures.get(call) ?? new Promise<boolean>((resolve) => void call.once('cancelled', () => resolve(false)));
  departures.set(call, known);
  return known;
};

/** Writes, and waits for flow control; `false` once the reader has disconnected. */
export const written = (call: ReadCall, bytes: Buffer): Promise<boolean> => {
  if (call.cancelled) return Promise.resolve(false);
  const taken = new Promise<boolean>((resolve) => void call.write(bytes, () => resolve(!call.cancelled)));
  return Promise.race([taken, goneOf(call)]);
};
