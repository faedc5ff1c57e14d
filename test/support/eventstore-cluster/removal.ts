import { randomBytes } from 'node:crypto';
import type { sendUnaryData, ServerUnaryCall } from '@grpc/grpc-js';
import {
  type DeleteReq_Options as DeleteOptions,
  DeleteReqSchema,
  DeleteRespSchema,
  TombstoneReqSchema,
} from '../../../proto/gen/event_store/client/streams_pb.js';
import { expectedOf, isLeaderWanted, nameOf, refusalOf } from './append-request.js';
import type { Proposed } from './log-file.js';
import type { Node } from './node.js';
import { invalidArgument, streamDeleted, wrongVersion } from './refusals.js';
import { type Append, type Expected, STREAM_METADATA, TOMBSTONE, visibleOf } from './streams.js';
import { decoded, encoded, positionFields } from './wire.js';

/** An event that the server itself writes. */
const own = (type: string, data: object): Proposed => ({
  id: randomBytes(16),
  type,
  isJson: true,
  metadata: Buffer.alloc(0),
  data: Buffer.from(JSON.stringify(data)),
});

/** True when a stream whose last revision is `current` is as expected; `undefined` is a stream without events. */
const isMet = (expected: Expected, current: bigint | undefined): boolean => {
  if (expected === 'any') return true;
  return expected === 'stream-exists' ? current !== undefined : expected === (current ?? 'no-stream');
};

/** Makes the append that deletes a stream, or that tombstones it (permanently). */
const removal = ({ log, replica }: Node, options: DeleteOptions | undefined, isTombstone: boolean): Append => {
  if (options === undefined) throw invalidArgument('options are missing');
  const [stream, expected] = [nameOf(options), expectedOf(options.expectedStreamRevision)];
  const visible = visibleOf(log, stream, replica.end());
  if (visible === 'deleted') throw streamDeleted(stream);
  const current = visible === 'missing' ? undefined : visible.last;
  if (!isMet(expected, current)) throw wrongVersion(stream, String(expected), current);
  if (isTombstone) return { stream, expected: 'any', events: [own(TOMBSTONE, {})] };
  // `$tb` (truncate before) in the metadata of a stream hides all its events below that revision.
  const hidden = own(STREAM_METADATA, { $tb: Number((current ?? -1n) + 1n) });
  return { stream: `$$${stream}`, expected: 'any', events: [hidden] };
};

/** Serves Delete and Tombstone, whose messages are the same. */
export const handleRemoval =
  (node: Node, isTombstone: boolean) =>
  (call: ServerUnaryCall<Buffer, Buffer>, respond: sendUnaryData<Buffer>): void => {
    const mayAnswer = node.remember();
    const run = async (): Promise<Buffer> => {
      const { options } = decoded(isTombstone ? TombstoneReqSchema : DeleteReqSchema, call.request);
      const append = removal(node, options as DeleteOptions | undefined, isTombstone);
      const outcome = await node.write(append, isLeaderWanted(call));
      if (outcome.kind !== 'written') throw refusalOf(append.stream, outcome);
      return encoded(DeleteRespSchema, {
        positionOption: { case: 'position', value: positionFields(outcome.position) },
      });
    };
    run().then(
      (bytes) => mayAnswer() && respond(null, bytes),
      (error: unknown) => mayAnswer() && respond(error as Error),
    );
  };
