import type { ServerDuplexStream } from '@grpc/grpc-js';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import {
  type BatchAppendReq,
  type BatchAppendReq_Options as Options,
  BatchAppendReqSchema,
} from '../../../proto/gen/event_store/client/streams_pb.js';
import { bytesOf, expectedOf, isLeaderWanted, nameOf, proposedOf } from './append-request.js';
import { batchAnswer, type Failed, failed, type Named } from './batch-answer.js';
import type { Proposed } from './log-file.js';
import type { Node } from './node.js';
import { notLeader } from './refusals.js';
import { MAX_APPEND_BYTES, type Outcome } from './streams.js';
import { WRITE_TIMEOUT_MS } from './timeouts.js';
import { decoded, idBytes } from './wire.js';

type Batch = ServerDuplexStream<Buffer, Buffer>;

/** An append of which some frames are still missing. */
type Open = Named & { readonly options: Options; readonly events: Proposed[]; readonly timer: NodeJS.Timeout };

/** The time in which the client wants an answer, in milliseconds; negative when it is over. */
const waitMs = ({ deadlineOption }: Options): number => {
  if (deadlineOption.case === 'deadlineAt') return timestampMs(deadlineOption.value) - Date.now();
  if (deadlineOption.case !== 'deadline') return WRITE_TIMEOUT_MS;
  return Number(deadlineOption.value.seconds) * 1_000 + deadlineOption.value.nanos / 1e6;
};

/** Handles the frames of a batch stream, and answers each append once it is complete and written. */
const takeFrames = (
  node: Node,
  call: Batch,
  mayAnswer: () => boolean,
): ((request: BatchAppendReq) => Promise<void>) => {
  const open = new Map<string, Open>();
  const send = (named: Named, result: Outcome | Failed): void => {
    if (mayAnswer() && !call.cancelled) call.write(batchAnswer(named, result));
  };
  const forget = (key: string): Open | undefined => {
    const known = open.get(key);
    clearTimeout(known?.timer);
    open.delete(key);
    return known;
  };

  const begin = (key: string, named: Named, options: Options): void => {
    const ms = Math.min(WRITE_TIMEOUT_MS, waitMs(options));
    if (ms <= 0) send(named, failed.timeout());
    else {
      const timeOut = (): void => {
        if (forget(key)) send(named, failed.timeout());
      };
      open.set(key, { ...named, options, events: [], timer: setTimeout(timeOut, ms) });
    }
  };

  const finish = async ({ correlationId, stream, options, events }: Open): Promise<void> => {
    const named = { correlationId, stream };
    if (stream === '') {
      send(named, failed.badRequest("Value cannot be null or empty. (Parameter 'eventStreamId')"));
      return;
    }
    const expected = expectedOf(options.expectedStreamPosition);
    const outcome = await node.write({ stream, expected, events }, isLeaderWanted(call));
    if (outcome.kind === 'not-leader') throw notLeader(outcome.port);
    send({ ...named, expected }, outcome);
  };

  return async (request) => {
    const key = idBytes(request.correlationId).toString('hex');
    const named: Named = { correlationId: request.correlationId, stream: nameOf(request.options) };
    if (request.options) begin(key, named, request.options);
    const append = open.get(key);
    if (append === undefined) return;
    try {
      append.events.push(...request.proposedMessages.map(proposedOf));
    } catch (error) {
      // A real server answers such an append twice: now, and when its time is over.
      send(append, failed.badRequest(error instanceof Error ? error.message : 'bad request'));
      return;
    }
    if (bytesOf(append.events) > MAX_APPEND_BYTES) {
      forget(key);
      send(append, failed.tooLarge());
      return;
    }
    if (!request.isFinal) return;
    forget(key);
    await finish(append);
  };
};

/** Serves the call `BatchAppend`, which carries any number of appends. */
export const handleBatchAppend =
  (node: Node) =>
  (call: Batch): void => {
    const mayAnswer = node.remember();
    if (!mayAnswer()) return;
    const take = takeFrames(node, call, mayAnswer);
    const inFlight = new Set<Promise<void>>();
    const fail = (error: unknown): void => {
      if (mayAnswer()) call.emit('error', error);
    };
    call.on('data', (bytes: Buffer) => {
      const taken = take(decoded(BatchAppendReqSchema, bytes)).catch(fail);
      inFlight.add(taken);
      void taken.finally(() => inFlight.delete(taken));
    });
    call.on('end', () => void Promise.all(inFlight).then(() => mayAnswer() && call.end()));
  };
