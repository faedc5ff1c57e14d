import {
  Client,
  credentials,
  type handleBidiStreamingCall,
  Metadata,
  type sendUnaryData,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import { toBinary } from '@bufbuild/protobuf';
import { ServerFeatures, SupportedMethodsSchema } from '../../../proto/gen/event_store/client/server_features_pb.js';
import { Streams } from '../../../proto/gen/event_store/client/streams_pb.js';
import { supportedMethods } from '../../../services/streams/eventstore/node.js';

/** A proxy before a log server; it can leave its open calls without an answer, and refuse appends. */
export type ForgetfulLog = {
  /** `host:port`. */
  readonly address: string;
  /** Never answers the calls that are open now; their connection stays alive. */
  readonly forget: () => void;
  /**
   * Sets whether new appends are refused with PERMISSION_DENIED and no useful text. In either case, the calls that are
   * open now end with that error, reads too.
   */
  readonly deny: (denies: boolean) => void;
  readonly close: () => Promise<void>;
};

const READ = `/${Streams.typeName}/${Streams.method.read.name}`;

const accessDenied = new Metadata();
accessDenied.set('exception', 'access-denied');
const DENIED = { code: status.PERMISSION_DENIED, details: ': ', metadata: accessDenied };

const same = (bytes: Buffer): Buffer => bytes;

/**
 * Starts a proxy that forwards calls, except as `forget` and `deny` say.
 *
 * @param version the server version that it reports.
 */
export const startForgetfulLog = async (log: string, version?: string): Promise<ForgetfulLog> => {
  const client = new Client(log, credentials.createInsecure());
  /** The calls that may still be answered. */
  const open = new Set<ServerDuplexStream<Buffer, Buffer>>();
  let denies = false;
  const forwarding =
    (path: string): handleBidiStreamingCall<Buffer, Buffer> =>
    (call) => {
      if (denies && path !== READ) {
        call.once('data', () => call.emit('error', DENIED));
        return;
      }
      const forwarded = client.makeBidiStreamRequest(path, same, same);
      open.add(call);
      const mayAnswer = (): boolean => open.has(call);
      call.on('data', (bytes: Buffer) => forwarded.write(bytes)).on('end', () => forwarded.end());
      call.on('cancelled', () => forwarded.cancel());
      forwarded.on('data', (bytes: Buffer) => mayAnswer() && call.write(bytes));
      forwarded.on('end', () => mayAnswer() && call.end());
      forwarded.on('error', (error: ServiceError) => mayAnswer() && call.emit('error', error));
    };
  const server = new Server();
  for (const { parent, name } of [Streams.method.read, Streams.method.append, Streams.method.batchAppend]) {
    const path = `/${parent.typeName}/${name}`;
    server.register(path, forwarding(path), same, same, 'bidi');
  }
  const supported = supportedMethods({ isRestricted: false });
  if (version !== undefined) supported.eventStoreServerVersion = version;
  const features = Buffer.from(toBinary(SupportedMethodsSchema, supported));
  const path = `/${ServerFeatures.typeName}/${ServerFeatures.method.getSupportedMethods.name}`;
  const answer = (_call: unknown, respond: sendUnaryData<Buffer>): void => respond(null, features);
  server.register(path, answer, same, same, 'unary');
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, at) =>
      error ? reject(error) : resolve(at),
    );
  });
  return {
    address: `127.0.0.1:${port}`,
    forget: () => open.clear(),
    deny: (isDenied) => {
      denies = isDenied;
      for (const call of open) call.emit('error', DENIED);
    },
    close: async () => {
      server.forceShutdown();
      client.close();
      return Promise.resolve();
    },
  };
};
