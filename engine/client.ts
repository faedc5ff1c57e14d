import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import { type Client as GrpcClient, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { ANSWER_DEPTH } from './answer-depth.js';
import { CallError, EngineStopped, isRetryableError } from './call-error.js';
import { type ControlPlane, openChannel } from './control-plane.js';
import { createCallSlots, pause } from './pace.js';

/**
 * Calls of the public interface. Each is retried with the same bytes until it succeeds or fails permanently.
 *
 * @throws {CallError} when a call fails permanently.
 * @throws {EngineStopped} when the engine stops before a call is answered.
 */
export interface InterfaceClient {
  call<Input extends DescMessage, Output extends DescMessage>(
    method: DescMethodUnary<Input, Output>,
    request: MessageInitShape<Input>,
    /** The position of the log that the answer must reflect, as `flightlog-position` has it. */
    minPosition?: string,
  ): Promise<MessageShape<Output>>;
  /**
   * Sends an encoded request.
   *
   * @returns the number of retries.
   */
  send(method: DescMethodUnary, request: Uint8Array): Promise<number>;
  close(): void;
}

type ClientOptions = ControlPlane & { readonly concurrency: number; readonly signal: AbortSignal };
type Answer = { readonly bytes: Buffer; readonly repeats: number };

const DEADLINE_MS = 30_000;
const LONGEST_BACKOFF_MS = 1000;
const CALLS_PER_CHANNEL = 64;
const MAX_CHANNELS = 4;

/** A call with fewer retries is retried when its token is refused: the token may have expired, and be renewed soon. */
const TOKEN_RETRIES = 12;

const CHANNEL_OPTIONS = {
  'grpc.enable_retries': 0,
  'grpc.service_config_disable_resolution': 1,
  'grpc.initial_reconnect_backoff_ms': 20,
  'grpc.min_reconnect_backoff_ms': 20,
  'grpc.max_reconnect_backoff_ms': 500,
};

const asIs = (bytes: Buffer): Buffer => bytes;

const channelsFor = (options: ClientOptions): readonly GrpcClient[] => {
  const count = Math.min(MAX_CHANNELS, Math.ceil(options.concurrency / CALLS_PER_CHANNEL));
  return Array.from({ length: Math.max(1, count) }, () => openChannel(options, CHANNEL_OPTIONS));
};

const backoff = (attempt: number): number =>
  Math.min(LONGEST_BACKOFF_MS, 20 * 2 ** Math.min(attempt, 6)) * (0.5 + Math.random() / 2);

/** A client whose `call` asks for answers that reflect a position of the log; its `send` is that of `client`. */
export const readingFrom = (client: InterfaceClient, position: string): InterfaceClient => ({
  ...client,
  call: (method, request) => client.call(method, request, position),
});

/** Opens channels to one endpoint. `close` closes the channels; the signal cancels the calls in flight. */
export const createClient = (options: ClientOptions): InterfaceClient => {
  const { signal } = options;
  const channels = channelsFor(options);
  const slots = createCallSlots(options.concurrency);
  const inFlight = new Set<{ cancel(): void }>();
  let turn = 0;
  signal.addEventListener('abort', () => inFlight.forEach((each) => each.cancel()), { once: true });

  const once = (path: string, request: Buffer, metadata: Metadata): Promise<Buffer | ServiceError> =>
    new Promise((resolve) => {
      turn = (turn + 1) % channels.length;
      const call = channels[turn]?.makeUnaryRequest(
        path,
        asIs,
        asIs,
        request,
        metadata,
        { deadline: Date.now() + DEADLINE_MS },
        (error, bytes) => {
          if (call) inFlight.delete(call);
          resolve(error ?? bytes ?? Buffer.alloc(0));
        },
      );
      if (call) inFlight.add(call);
    });

  const mayRetry = (error: ServiceError, repeats: number): boolean =>
    isRetryableError(error, repeats) ||
    (error.code === status.UNAUTHENTICATED && options.getToken !== undefined && repeats < TOKEN_RETRIES);

  const answered = async (path: string, request: Buffer, metadata: Metadata): Promise<Answer> => {
    for (let repeats = 0; ; repeats++) {
      if (signal.aborted) throw new EngineStopped('stopped');
      const result = await once(path, request, metadata);
      if (Buffer.isBuffer(result)) return { bytes: result, repeats };
      if (!mayRetry(result, repeats)) throw new CallError(result, repeats);
      await pause(backoff(repeats), signal);
    }
  };

  const request = (method: DescMethodUnary, bytes: Uint8Array, minPosition?: string): Promise<Answer> => {
    const metadata = new Metadata();
    if (minPosition !== undefined) metadata.set('flightlog-min-position', minPosition);
    const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    return slots(() => answered(`/${method.parent.typeName}/${method.name}`, view, metadata));
  };

  return {
    call: async (method, init, minPosition) => {
      const bytes = toBinary(method.input, create(method.input, init));
      return fromBinary(method.output, (await request(method, bytes, minPosition)).bytes, {
        recursionLimit: ANSWER_DEPTH,
      });
    },
    send: async (method, bytes) => (await request(method, bytes)).repeats,
    close: () => channels.forEach((each) => each.close()),
  };
};
