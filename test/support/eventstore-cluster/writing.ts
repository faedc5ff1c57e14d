import {
  type Client,
  credentials,
  type sendUnaryData,
  type ServerUnaryCall,
  Client as GrpcClient,
} from '@grpc/grpc-js';
import type { LogFile, Proposed } from './log-file.js';
import type { Membership } from './membership.js';
import type { Replica } from './replica.js';
import { type Append, decideAppend, type Expected, type Outcome } from './streams.js';
import { WRITE_TIMEOUT_MS } from './timeouts.js';

/** The method by which a node forwards an append to the leader. */
export const FORWARD_PATH = '/flightlog.test.Cluster/Write';

const same = (bytes: Buffer): Buffer => bytes;

/** A forwarded append as JSON: ids in hexadecimal, contents in Base64, a revision in decimal. */
type ForwardedAppend = Omit<Append, 'expected' | 'events'> & {
  readonly expected: string;
  readonly events: readonly Record<keyof Proposed, string | boolean>[];
};

/** Encodes an append that is forwarded. */
const packed = ({ stream, expected, events }: Append): Buffer => {
  const sent = events.map(({ id, type, isJson, metadata, data }) => ({
    id: id.toString('hex'),
    type,
    isJson,
    metadata: metadata.toString('base64'),
    data: data.toString('base64'),
  }));
  return Buffer.from(JSON.stringify({ stream, expected: String(expected), events: sent }));
};

/** Decodes an append that was forwarded. */
const unpacked = (bytes: Buffer): Append => {
  const { stream, expected, events } = JSON.parse(bytes.toString()) as ForwardedAppend;
  return {
    stream,
    expected: /^\d+$/u.test(expected) ? BigInt(expected) : (expected as Expected),
    events: events.map(({ id, type, isJson, metadata, data }) => ({
      id: Buffer.from(String(id), 'hex'),
      type: String(type),
      isJson: isJson === true,
      metadata: Buffer.from(String(metadata), 'base64'),
      data: Buffer.from(String(data), 'base64'),
    })),
  };
};

/** Encodes a 64-bit integer in JSON as `{ "$": DECIMAL }`. */
const withBigints = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? { $: String(value) } : value);
/** Decodes a 64-bit integer of `withBigints`. */
const bigintsBack = (_: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && '$' in value ? BigInt(String(value.$)) : value;

/** The write path of a node: only the leader writes, other nodes forward appends to it. */
export interface Writer {
  /** With `requiresLeader`, a node that is not the leader refuses and names the leader, in place of forwarding. */
  readonly write: (append: Append, requiresLeader: boolean) => Promise<Outcome>;
  /** Serves appends that other nodes forward. */
  readonly handleForwarded: (call: ServerUnaryCall<Buffer, Buffer>, respond: sendUnaryData<Buffer>) => void;
}

/**
 * Makes the writer of a node. Appends that arrive in one turn of the event loop are written in one transaction. The log
 * file is shared by all nodes and only the leader writes to it, so what is written counts as confirmed.
 * Appends to an isolated leader time out until it misses its followers; a node that knows no leader takes none.
 */
export const writerOf = (log: LogFile, replica: Replica, members: Membership): Writer => {
  type Waiting = { readonly append: Append; readonly settle: (outcome: Outcome) => void };
  let waiting: Waiting[] = [];
  const clients = new Map<number, Client>();

  const writeAll = (batch: readonly Waiting[]): readonly Outcome[] | undefined =>
    log.transaction(() => (members.mayWrite() ? batch.map(({ append }) => decideAppend(log, append)) : undefined));

  const flush = (): void => {
    const batch = waiting;
    waiting = [];
    const outcomes = writeAll(batch);
    if (outcomes === undefined) {
      // This node is isolated, or no longer the leader. A real node would write the events to its own log, and the
      // cluster would drop them later; here all nodes read one log file, so they are not written at all.
      setTimeout(() => batch.forEach(({ settle }) => settle({ kind: 'timeout' })), WRITE_TIMEOUT_MS);
      return;
    }
    replica.advance(true); // a leader sees its own events at once; followers may lag
    batch.forEach(({ settle }, index) => settle(outcomes[index] ?? { kind: 'timeout' }));
  };

  /** Writes an append as the leader, together with those of the same turn. */
  const writeAsLeader = (append: Append): Promise<Outcome> =>
    new Promise((settle) => {
      if (waiting.length === 0) setImmediate(flush);
      waiting.push({ append, settle });
    });

  const clientTo = (port: number): Client => {
    const known = clients.get(port) ?? new GrpcClient(`127.0.0.1:${port}`, credentials.createInsecure());
    clients.set(port, known);
    return known;
  };

  /** Forwards the append. When the leader does not answer, the outcome is unknown, and the append times out. */
  const forward = (append: Append, port: number): Promise<Outcome> =>
    new Promise((resolve) => {
      const deadline = Date.now() + WRITE_TIMEOUT_MS;
      const timeOut = (): void => resolve({ kind: 'timeout' });
      clientTo(port).makeUnaryRequest(FORWARD_PATH, same, same, packed(append), { deadline }, (error, bytes) => {
        if (bytes !== undefined && !error) resolve(JSON.parse(bytes.toString(), bigintsBack) as Outcome);
        else setTimeout(timeOut, Math.max(0, deadline - Date.now()));
      });
    });

  return {
    write: (append, requiresLeader) => {
      if (members.isLeader()) return writeAsLeader(append);
      const leader = members.leader();
      if (leader === undefined) return Promise.resolve({ kind: 'not-ready' });
      if (requiresLeader) return Promise.resolve({ kind: 'not-leader', port: leader.port });
      return forward(append, leader.port);
    },
    handleForwarded: ({ request }, respond) => {
      const decided = members.isLeader()
        ? writeAsLeader(unpacked(request))
        : Promise.resolve<Outcome>({ kind: 'not-ready' });
      void decided.then((outcome) => respond(null, Buffer.from(JSON.stringify(outcome, withBigints))));
    },
  };
};
