import { once } from 'node:events';
import type { DescMethod } from '@bufbuild/protobuf';
import { toBinary } from '@bufbuild/protobuf';
import type { ClientDuplexStream, ServiceError } from '@grpc/grpc-js';
import {
  PersistentSubscriptions,
  ReadReqSchema,
  type ReadResp_ReadEvent as ReadEvent,
  ReadRespSchema,
} from '../../../../proto/gen/event_store/client/persistent_pb.js';
import type { RecordedEvent } from '../../../kernel/event.js';
import type { EncodedCall, EncodedHandler } from '../../../kernel/ports/encoded-calls.js';
import { RpcError } from '../../../kernel/rpc.js';
import type { StreamName } from '../../../kernel/stream.js';
import type { ClientAccess } from '../access.js';
import { decoded, rpcPath } from '../codec.js';
import { type EventDataEncoder, storedForm } from '../recorded.js';
import { decodedRequest } from '../request-text.js';
import { type Shutdown, unlessSignalled } from '../shutdown.js';
import type { UnaryAnswer } from './administration.js';
import { ForwardedFailure } from './group-failure.js';

/** Calls about consumer groups, forwarded to the event store that has the log. */
export interface GroupCalls {
  /**
   * Makes a unary call.
   *
   * @throws the gRPC error of the call, or a fault when the event store cannot be reached.
   */
  callUnary(path: string, request: Buffer): Promise<Buffer>;
  /**
   * Opens a bidirectional call, which ends with its gRPC error.
   *
   * @throws a fault when the event store cannot be reached.
   */
  open(path: string): Promise<ClientDuplexStream<Buffer, Buffer>>;
}

const { read, getInfo, list } = PersistentSubscriptions.method;

const isOfCall = (error: unknown): error is ServiceError =>
  error instanceof Error && 'code' in error && 'metadata' in error && typeof error.code === 'number';

/** The exception by which a node names the leader. Clients of this port cannot reach it, so they get UNAVAILABLE. */
const NOT_LEADER = 'not-leader';

const failureOf = (error: unknown): unknown => {
  if (!isOfCall(error)) return error;
  const trailers = error.metadata.getMap();
  if (trailers['exception'] === NOT_LEADER) return new RpcError('UNAVAILABLE', 'Server Is Not Ready');
  return new ForwardedFailure(error, trailers);
};

/** The unary calls about groups, answered by the event store. Requests with a NUL in a text are not forwarded. */
export const forwardedAdministration = (
  calls: GroupCalls,
  access: ClientAccess,
): readonly (readonly [DescMethod, UnaryAnswer])[] =>
  Object.values(PersistentSubscriptions.method)
    .filter((method) => method !== read)
    .map((method) => [
      method,
      async (request) => {
        if (method !== getInfo && method !== list) access.assertGroupsAdministered();
        decodedRequest(method.input, request);
        try {
          return await calls.callUnary(rpcPath(method), Buffer.from(request));
        } catch (error) {
          throw failureOf(error);
        }
      },
    ]);

const utf8 = new TextDecoder();

const JSON_TYPE = 'application/json';

/** A placeholder: the format of an event does not depend on its id. */
const NO_ID = new Uint8Array();

type Fields = NonNullable<ReadEvent['event']>;

const recordedOf = (event: Fields): RecordedEvent => ({
  id: NO_ID,
  stream: utf8.decode(event.streamIdentifier?.streamName) as StreamName,
  type: event.metadata['type'] ?? '',
  data: event.data,
  metadata: utf8.decode(event.customMetadata),
  revision: event.streamRevision,
  position: event.commitPosition,
});

/** Converts an event of the event store to the format of this port. */
const presented = async (bytes: Buffer, present: EventDataEncoder): Promise<Buffer> => {
  if (present === storedForm) return bytes;
  const answer = decoded(ReadRespSchema, bytes);
  const event = answer.content.case === 'event' ? answer.content.value.event : undefined;
  if (event === undefined) return bytes;
  const isStoredJson = event.metadata['content-type'] === JSON_TYPE;
  const { data, isJson } = await present(recordedOf(event));
  event.data = data;
  event.metadata['content-type'] = isJson || isStoredJson ? JSON_TYPE : 'application/octet-stream';
  return Buffer.from(toBinary(ReadRespSchema, answer));
};

/**
 * Forwards the options and answers of the client to the event store.
 *
 * @throws {RpcError} INVALID_ARGUMENT with the field that has a NUL; that message is not forwarded.
 */
const forwardRequests = async (call: EncodedCall, forwarded: ClientDuplexStream<Buffer, Buffer>): Promise<void> => {
  for await (const bytes of call.requests()) {
    decodedRequest(ReadReqSchema, bytes);
    if (!forwarded.write(bytes)) await once(forwarded, 'drain', { signal: call.disconnected });
  }
  forwarded.end();
};

const consume = async (calls: GroupCalls, call: EncodedCall, present: EventDataEncoder): Promise<void> => {
  const forwarded = await calls.open(rpcPath(read));
  const cancel = (): void => forwarded.cancel();
  call.disconnected.addEventListener('abort', cancel, { once: true });
  let refusal: RpcError | undefined;
  forwardRequests(call, forwarded).catch((error: unknown) => {
    if (error instanceof RpcError) refusal = error;
    cancel();
  });
  try {
    for await (const bytes of forwarded as AsyncIterable<Buffer>) await call.send(await presented(bytes, present));
  } catch (error) {
    throw refusal ?? failureOf(error);
  } finally {
    cancel();
  }
};

/** Serves Read by forwarding it to the groups of the event store. */
export const forwardedConsumeHandler =
  (calls: GroupCalls, present: EventDataEncoder, shutdown: Shutdown): EncodedHandler =>
  (call) =>
    unlessSignalled(consume(calls, call, present), shutdown.begun);
