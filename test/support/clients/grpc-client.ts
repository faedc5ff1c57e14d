import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import { Client, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js';

/** The answer to a call, with any status. */
export type Answered = {
  readonly code: keyof typeof status;
  readonly message: string;
  readonly bytes: Uint8Array;
  /** Headers and trailers together. */
  readonly metadata: Metadata;
};

const metadataOf = (headers: Readonly<Record<string, string>>): Metadata => {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
  return metadata;
};

const asIs = (bytes: Buffer): Buffer => bytes;

/** A gRPC client: `raw` and `rawStream` send and receive bytes, `call` messages. */
export type GrpcClient = {
  /** Calls any RPC as a unary one, by its path, with the bytes of a request; resolves whatever the status. */
  readonly raw: (path: string, request: Uint8Array, metadata?: Readonly<Record<string, string>>) => Promise<Answered>;
  /** Calls a streaming RPC with one request; resolves at its end, with the bytes of the first answer. */
  readonly rawStream: (
    path: string,
    request: Uint8Array,
    metadata?: Readonly<Record<string, string>>,
  ) => Promise<Omit<Answered, 'metadata'>>;
  /** Calls an RPC. @throws {Error} with `code` and `details`, for a status other than OK. */
  readonly call: <I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
  ) => Promise<MessageShape<O>>;
  readonly close: () => void;
};

/** Opens a client of a server without TLS, with a connection of its own and without limits on message sizes. */
export const grpcClient = (address: string): GrpcClient => {
  const client = new Client(address, credentials.createInsecure(), {
    'grpc.max_receive_message_length': -1,
    'grpc.max_send_message_length': -1,
    'grpc.use_local_subchannel_pool': 1,
  });
  const raw: GrpcClient['raw'] = (path, request, headers = {}) =>
    new Promise((resolve) => {
      const received = new Metadata();
      let answer: Pick<Answered, 'code' | 'message' | 'bytes'> = { code: 'OK', message: '', bytes: new Uint8Array() };
      const call = client.makeUnaryRequest(
        path,
        asIs,
        asIs,
        Buffer.from(request),
        metadataOf(headers),
        (error: ServiceError | null, value?: Buffer) => {
          const code = status[error?.code ?? status.OK] as keyof typeof status;
          answer = { code, message: error?.details ?? '', bytes: value ?? new Uint8Array() };
        },
      );
      call.on('metadata', (metadata) => received.merge(metadata));
      call.on('status', ({ metadata }) => {
        received.merge(metadata);
        setImmediate(() => resolve({ ...answer, metadata: received }));
      });
    });
  const rawStream: GrpcClient['rawStream'] = (path, request, headers = {}) =>
    new Promise((resolve) => {
      const call = client.makeBidiStreamRequest(path, asIs, asIs, metadataOf(headers));
      let first: Buffer | undefined;
      call.on('data', (answer: Buffer) => (first ??= answer));
      call.on('error', () => undefined); // the status reports it
      call.on('status', ({ code, details }) => {
        resolve({ code: status[code] as keyof typeof status, message: details, bytes: first ?? new Uint8Array() });
      });
      call.end(Buffer.from(request));
    });
  return {
    raw,
    rawStream,
    call: async (method, request) => {
      const bytes = toBinary(method.input, create(method.input, request));
      const answer = await raw(`/${method.parent.typeName}/${method.name}`, bytes);
      if (answer.code === 'OK') return fromBinary(method.output, answer.bytes);
      throw Object.assign(new Error(`${answer.code}: ${answer.message}`), {
        code: status[answer.code],
        details: answer.message,
      });
    },
    close: () => client.close(),
  };
};
