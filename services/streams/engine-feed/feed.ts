import { fromBinary } from '@bufbuild/protobuf';
import { WorkRequestSchema } from '../../../proto/gen/platformidl/eventlog/engine_work_pb.js';
import { asError } from '../../kernel/error-text.js';
import { type Call, missing, RpcError } from '../../kernel/rpc.js';
import type { StreamName } from '../../kernel/stream.js';
import { engineMessages } from './engine-messages.js';
import { openSendQueue, type SendQueue } from './send-queue.js';
import { engineAdmission, type FeedServices } from './admission.js';
import { type KnownWork, WorkBoard } from './work-board.js';
import type { JoinedEngine } from './work-offers.js';

/** The engine feed: gives executions to the engines that are connected to this process. */
export interface EngineFeed {
  /**
   * Serves the stream of an engine until the engine leaves or ends its requests, or the signal is aborted.
   *
   * @throws {RpcError} INVALID_ARGUMENT for an invalid message; PERMISSION_DENIED when the engine may not report in a
   *   scope that it names, or in no project; FAILED_PRECONDITION when the session has ended; ABORTED when another
   *   stream takes the session over; UNAVAILABLE when the log cannot be read, when the engine has been silent for the
   *   lease duration and other processes write the log too, or when the process shuts down.
   */
  open(requests: AsyncIterable<Uint8Array>, call: Call, signal: AbortSignal): AsyncIterable<Uint8Array>;
  /**
   * Describes the open sessions of engines, in no order, and counts the executions that wait.
   *
   * @throws {Fault} when the log cannot be read.
   * @throws {RpcError} UNAVAILABLE when the feed is closed meanwhile.
   */
  known(): Promise<KnownWork>;
  /** Folds the rest of a stream that was parked, of an execution or of an engine's session; ignores other streams. */
  resume(stream: StreamName): Promise<void>;
  close(): Promise<void>;
}

/** The stream of one engine. */
type Stream = { readonly call: Call; readonly sendQueue: SendQueue; engine: JoinedEngine | undefined };

/** Opens the feed. It begins to read the log when the first engine joins, or at the first call of `known`. */
export const openEngineFeed = (services: FeedServices): EngineFeed => {
  const board = new WorkBoard(services);
  const admit = engineAdmission(services, board);
  const { leases, sessions, steadyMs } = services;
  const { engines } = board;

  /** Ends the session of an engine, and then its stream, without an error. */
  const leave = async (engine: JoinedEngine): Promise<void> => {
    // First: where the board still has the engine, the end of the session ends its stream with an error.
    if (engines.get(engine.id.session) === engine) engines.delete(engine.id.session);
    await sessions.end(engine.id, 'the engine has left');
    engine.sendQueue.end();
  };

  const handle = engineMessages({
    ...{ leases, steadyMs },
    distribute: () => board.distribute(),
    renew: (engine, heartbeat) => board.renew(engine, heartbeat),
    leave,
  });

  /** Detaches an engine from its stream. It keeps its leases for at least the lease duration, and may join again. */
  const detach = ({ engine }: Stream): void => {
    if (engine === undefined || engines.get(engine.id.session) !== engine) return;
    engines.delete(engine.id.session);
    board.sessions.seen(engine.id.session);
  };

  /** Handles the requests of an engine in order, and no further one while too many messages wait for the engine. */
  const serve = async (requests: AsyncIterable<Uint8Array>, stream: Stream): Promise<void> => {
    for await (const bytes of requests) {
      await stream.sendQueue.writable();
      const request = fromBinary(WorkRequestSchema, bytes);
      if (stream.engine) await handle(stream.engine, request);
      else if (request.message.case === 'join') {
        stream.engine = await admit(request.message.value, stream);
        if (stream.sendQueue.isEnded()) detach(stream); // it has ended since the engine was admitted
      } else throw missing('join');
    }
  };

  return {
    async *open(requests, call, signal) {
      const stream: Stream = { call, sendQueue: openSendQueue(), engine: undefined };
      serve(requests, stream).then(
        () => stream.sendQueue.end(),
        (thrown: unknown) => stream.sendQueue.end(asError(thrown)),
      );
      try {
        yield* stream.sendQueue.messages(signal);
      } finally {
        detach(stream);
      }
    },
    known: async () => {
      await board.start();
      return board.known();
    },
    resume: (stream) => board.resume(stream),
    close: async () => {
      for (const { sendQueue } of engines.values()) sendQueue.end(new RpcError('UNAVAILABLE', 'shutting down'));
      await board.close();
    },
  };
};
