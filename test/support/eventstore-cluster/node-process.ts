import { randomUUID } from 'node:crypto';
import type { DescMethod } from '@bufbuild/protobuf';
import { type handleUnaryCall, logVerbosity, Server, ServerCredentials, setLogVerbosity } from '@grpc/grpc-js';
import { Gossip } from '../../../proto/gen/event_store/client/gossip_pb.js';
import { ServerFeatures } from '../../../proto/gen/event_store/client/server_features_pb.js';
import { Streams } from '../../../proto/gen/event_store/client/streams_pb.js';
import { handleAppend } from './appending.js';
import { handleBatchAppend } from './batch-append.js';
import { openLogFile } from './log-file.js';
import { membership } from './membership.js';
import type { Node } from './node.js';
import { type Command, nodeOptions } from './node-options.js';
import { clusterInfo, supported } from './presentation.js';
import { handleRead } from './reading.js';
import { handleRemoval } from './removal.js';
import { replicaOf } from './replica.js';
import { FORWARD_PATH, writerOf } from './writing.js';

/** The interval between reads of the log file; a follower lags by up to this. */
const TICK_MS = 10;

/** More than the largest append, so that its own limit refuses it. */
const MAX_MESSAGE_BYTES = 17 * 1024 * 1024;

const options = nodeOptions(process.argv.slice(2));
const log = openLogFile(options.file);
const replica = replicaOf(log);
const instance = randomUUID();
/** The number of times that the node was muted; calls from before the last time are never answered. */
let mutes = 0;
let isMute = false;

const members = membership({
  ...options,
  log,
  instance,
  shown: () => replica.end(),
  onDeposed: () => process.exit(0),
});
const writer = writerOf(log, replica, members);
const node: Node = {
  log,
  replica,
  members,
  version: options.version,
  write: writer.write,
  remember: () => {
    const [before, wasMute] = [mutes, isMute];
    return () => !wasMute && mutes === before;
  },
};

const raw = (bytes: Buffer): Buffer => bytes;
const pathOf = ({ parent, name }: DescMethod): string => `/${parent.typeName}/${name}`;
/** Answers a unary call with a message that does not depend on the request. */
const answerWith =
  (message: () => Buffer): handleUnaryCall<Buffer, Buffer> =>
  (_, respond) =>
    isMute || respond(null, message());

const server = new Server({
  'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
  'grpc.max_concurrent_streams': 1_024,
});
const { read, append, batchAppend, delete: remove, tombstone } = Streams.method;
server.register(pathOf(read), handleRead(node), raw, raw, 'serverStream');
server.register(pathOf(append), handleAppend(node), raw, raw, 'clientStream');
server.register(pathOf(batchAppend), handleBatchAppend(node), raw, raw, 'bidi');
server.register(pathOf(remove), handleRemoval(node, false), raw, raw, 'unary');
server.register(pathOf(tombstone), handleRemoval(node, true), raw, raw, 'unary');
server.register(FORWARD_PATH, writer.handleForwarded, raw, raw, 'unary');
server.register(
  pathOf(ServerFeatures.method.getSupportedMethods),
  answerWith(() => supported(node)),
  raw,
  raw,
  'unary',
);
server.register(
  pathOf(Gossip.method.read),
  answerWith(() => clusterInfo(node)),
  raw,
  raw,
  'unary',
);

const orders: Record<Command['kind'], (command: Command) => void> = {
  lag: ({ ms = 0 }) => replica.lag(ms === 'frozen' ? Infinity : ms),
  mute: () => {
    isMute = true;
    mutes += 1;
  },
  speak: () => void (isMute = false),
  isolate: () => members.isolate(true),
  rejoin: () => members.isolate(false),
  resign: () => members.resign(),
  // The process stops itself, so that it never stops within a transaction, which would block all others.
  suspend: () => process.kill(process.pid, 'SIGSTOP'),
};

process.on('message', (command: Command) => {
  const confirm = (): void => void process.send?.({ done: command.id });
  if (command.kind === 'suspend') {
    confirm(); // a stopped process cannot confirm
    setImmediate(() => orders.suspend(command));
  } else {
    orders[command.kind](command);
    confirm();
  }
});
process.on('disconnect', () => process.exit(0));
process.on('SIGTERM', () => {
  members.resign();
  process.exit(0);
});

setLogVerbosity(logVerbosity.NONE);
server.bindAsync(`127.0.0.1:${options.port}`, ServerCredentials.createInsecure(), (error) => {
  if (error) throw error;
  setInterval(() => {
    members.tick();
    replica.advance(members.isLeader());
  }, TICK_MS);
  process.stdout.write('ready\n');
});
