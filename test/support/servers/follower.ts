import { once } from 'node:events';
import {
  type handleBidiStreamingCall,
  Metadata,
  type sendUnaryData,
  Server,
  ServerCredentials,
  status,
} from '@grpc/grpc-js';
import { toBinary } from '@bufbuild/protobuf';
import { PersistentSubscriptions } from '../../../proto/gen/event_store/client/persistent_pb.js';
import { ServerFeatures, SupportedMethodsSchema } from '../../../proto/gen/event_store/client/server_features_pb.js';
import { Streams } from '../../../proto/gen/event_store/client/streams_pb.js';
import { supportedMethods } from '../../../services/streams/eventstore/node.js';

/**
 * A node of a cluster that is not the leader: it answers reads, appends and calls of persistent subscriptions with the
 * leader's address.
 */
export type Follower = {
  /** `host:port`. */
  readonly address: string;
  /** The number of calls that it has redirected. */
  readonly redirects: () => number;
  readonly close: () => Promise<void>;
};

const same = (bytes: Buffer): Buffer => bytes;

/** Starts a follower that redirects to the leader at an address. */
export const startFollower = async (leader: string): Promise<Follower> => {
  const [host = '', port = ''] = leader.split(':');
  let redirects = 0;
  const server = new Server();
  const sendAway: handleBidiStreamingCall<Buffer, Buffer> = (call) => {
    redirects += 1;
    const metadata = new Metadata();
    metadata.set('exception', 'not-leader');
    metadata.set('leader-endpoint-host', host);
    metadata.set('leader-endpoint-port', port);
    const refuse = (): void => {
      call.emit('error', { code: status.NOT_FOUND, details: 'Leader info available', metadata });
    };
    void once(call, 'data').then(refuse, () => undefined);
  };
  const { read, append, batchAppend } = Streams.method;
  for (const { parent, name } of [read, append, batchAppend, ...Object.values(PersistentSubscriptions.method)])
    server.register(`/${parent.typeName}/${name}`, sendAway, same, same, 'bidi');
  const features = Buffer.from(toBinary(SupportedMethodsSchema, supportedMethods({ isRestricted: false })));
  server.register(
    `/${ServerFeatures.typeName}/${ServerFeatures.method.getSupportedMethods.name}`,
    (_call: unknown, respond: sendUnaryData<Buffer>) => respond(null, features),
    same,
    same,
    'unary',
  );
  const bound = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, at) => {
      if (error) reject(error);
      else resolve(at);
    });
  });
  return {
    address: `127.0.0.1:${bound}`,
    redirects: () => redirects,
    close: () => new Promise((resolve) => server.tryShutdown(() => resolve())),
  };
};
