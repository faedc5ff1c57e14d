import { durationFromMs } from '@bufbuild/protobuf/wkt';
import type { WorkJoin } from '../../../proto/gen/platformidl/eventlog/engine_work_pb.js';
import type { EngineSessionId } from '../../engine-session/events.js';
import { executionStream } from '../../kernel/execution-id.js';
import { type Call, RpcError } from '../../kernel/rpc.js';
import { namedLease } from './engine-messages.js';
import { joiningOf } from './joined.js';
import type { HeldLease } from './ports.js';
import type { SendQueue } from './send-queue.js';
import { type BoardServices, HEARTBEATS, type WorkBoard } from './work-board.js';
import { type JoinedEngine, sendAbort } from './work-offers.js';

/** Services and settings of the feed. */
export type FeedServices = BoardServices & {
  /** A new id of a session, a UUID. */
  readonly newSession: () => string;
};

/** A stream whose first message has come. */
export type OpenedStream = { readonly call: Call; readonly sendQueue: SendQueue };

/** The leases that a joining engine keeps, and functions that send their pending aborts. */
type Kept = { readonly kept: WorkJoin['leases']; readonly aborts: readonly (() => void)[] };

const NONE_KEPT: Kept = { kept: [], aborts: [] };

/**
 * Tells an engine which of its executions ended before it joined. Only executions that are not open on the board are
 * read: the board itself sends the end of an open one.
 */
const tellEnds = (
  { leases, onFailure }: Pick<FeedServices, 'leases' | 'onFailure'>,
  board: Pick<WorkBoard, 'engines' | 'isOpen' | 'tellEnd'>,
  { engine, held }: { readonly engine: JoinedEngine; readonly held: readonly HeldLease[] },
): void => {
  const tell = async (): Promise<void> => {
    for (const lease of held) {
      if (board.engines.get(engine.id.session) !== engine) return; // its stream was replaced or has ended
      if (board.isOpen(lease.id)) continue;
      const found = await leases.held(lease);
      if (found?.ended !== undefined) board.tellEnd(engine, lease.id, found.ended);
    }
  };
  tell().catch((thrown: unknown) => {
    onFailure(thrown);
    engine.sendQueue.end(new RpcError('UNAVAILABLE', 'an execution of the engine cannot be read: join again'));
  });
};

/** Admits engines: into the session that they name if it has not ended, otherwise into a new session. */
export const engineAdmission = (
  services: FeedServices,
  board: WorkBoard,
): ((join: WorkJoin, arrived: OpenedStream) => Promise<JoinedEngine>) => {
  const { leases, sessions, leaseMs, now, newSession } = services;
  const resumes = async (id: EngineSessionId): Promise<boolean> => {
    board.sessions.seen(id.session); // first, so that a check for silent sessions that runs now does not end it
    return id.session !== '' && (await sessions.renewals(id)) !== undefined && sessions.renew(id);
  };

  const sessionOf = async (asked: EngineSessionId, principal: string): Promise<EngineSessionId> => {
    if (await resumes(asked)) return asked;
    const id = { ...asked, session: newSession() };
    for (const earlier of board.sessions.namesakes(id))
      await sessions.end(earlier.id, 'another engine of this name has joined');
    await sessions.open(id, principal);
    board.sessions.opened(id);
    return id;
  };

  /** Keeps the leases that the engine names and its session holds; the engine may have missed their aborts. */
  const keepLeases = async (engine: JoinedEngine, named: WorkJoin['leases']): Promise<Kept> => {
    const kept: WorkJoin['leases'] = [];
    const aborts: (() => void)[] = [];
    for (const each of named) {
      const lease = namedLease(each, engine);
      const found = await leases.held(lease);
      if (found === undefined) continue;
      kept.push(each);
      engine.held.set(executionStream(lease.id), { number: lease.number, isSent: true });
      const { abort } = found;
      if (abort) aborts.push(() => sendAbort(engine, lease, abort));
    }
    return { kept, aborts };
  };

  const times = {
    leaseDuration: durationFromMs(leaseMs),
    heartbeatInterval: durationFromMs(Math.floor(leaseMs / HEARTBEATS)),
  };

  return async (join: WorkJoin, { call, sendQueue }: OpenedStream): Promise<JoinedEngine> => {
    const { group, engine: name, ...joining } = joiningOf(join, call);
    await board.start();
    const id = await sessionOf({ group, engine: name, session: join.session }, call.principal);
    const engine: JoinedEngine = {
      ...joining,
      ...{ group, engine: name, id, sendQueue, free: 0, seenAtMs: now(), renewedAtMs: now() },
      ...{ deciding: new Set(), held: new Map(), rejected: new Set() },
    };
    const { kept, aborts } = id.session === join.session ? await keepLeases(engine, join.leases) : NONE_KEPT;
    // Without a stream, it would be leased executions that it never gets.
    if (sendQueue.isEnded()) throw new RpcError('UNAVAILABLE', 'the stream has ended: join again with the session');
    board.engines.get(id.session)?.sendQueue.end(new RpcError('ABORTED', 'another stream has taken over the session'));
    board.engines.set(id.session, engine);
    sendQueue.send({ case: 'joined', value: { session: id.session, leases: kept, ...times } });
    for (const send of aborts) send();
    const held = kept.map((lease) => namedLease(lease, engine));
    tellEnds(services, board, { engine, held }); // only now: one may have ended while the engine was admitted
    board.giveBackUnheld(engine);
    engine.free = joining.places;
    board.distribute();
    return engine;
  };
};
