import { durationFromMs } from '@bufbuild/protobuf/wkt';
import type { WorkJoin } from '../../../proto/gen/platformidl/eventlog/engine_work_pb.js';
import type { EngineSessionId } from '../../engine-session/events.js';
import { executionStream } from '../../kernel/execution-id.js';
import { type Call, RpcError } from '../../kernel/rpc.js';
import type { StreamName } from '../../kernel/stream.js';
import { namedLease } from './engine-messages.js';
import { joiningOf, type JoinParameters } from './joined.js';
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

/** The leases that a joining engine keeps, and functions that send their pending aborts, by execution. */
type Kept = { readonly kept: WorkJoin['leases']; readonly aborting: ReadonlyMap<StreamName, () => void> };

const NONE_KEPT: Kept = { kept: [], aborting: new Map() };

/**
 * Sends an engine the ends of its executions that have ended before it joined, and the aborts that were requested after
 * their leases were read. An execution that is open on the board, without a request to abort it, is not read: the board
 * itself sends its abort and its end.
 */
const sendMissed = (
  { leases, onFailure }: Pick<FeedServices, 'leases' | 'onFailure'>,
  board: Pick<WorkBoard, 'engines' | 'isOpen' | 'isAborting' | 'sendEnd'>,
  { engine, kept, aborting }: Kept & { readonly engine: JoinedEngine },
): void => {
  const held = kept.map((each) => namedLease(each, engine));
  const missed = new Set(held.filter(({ id }) => board.isAborting(id) && !aborting.has(executionStream(id))));
  const sendMissing = async (): Promise<void> => {
    for (const lease of held) {
      if (board.engines.get(engine.id.session) !== engine) return; // its stream was replaced or has ended
      if (board.isOpen(lease.id) && !missed.has(lease)) continue;
      const found = await leases.held(lease);
      if (found?.ended !== undefined) board.sendEnd(engine, lease.id, found.ended);
      else if (found?.abort && missed.has(lease)) sendAbort(engine, lease, found.abort);
    }
  };
  sendMissing().catch((thrown: unknown) => {
    onFailure(thrown);
    engine.sendQueue.end(new RpcError('UNAVAILABLE', 'an execution of the engine cannot be read: join again'));
  });
};

/** Runs tasks with the same key one after the other. */
const inTurn = () => {
  const lastOf = new Map<string, Promise<void>>();
  return async <Answer>(key: string, task: () => Promise<Answer>): Promise<Answer> => {
    const answer = (lastOf.get(key) ?? Promise.resolve()).then(task);
    const last = answer.then(
      () => undefined,
      () => undefined,
    );
    lastOf.set(key, last);
    try {
      return await answer;
    } finally {
      if (lastOf.get(key) === last) lastOf.delete(key);
    }
  };
};

type Admit = (join: WorkJoin, joining: JoinParameters, arrived: OpenedStream) => Promise<JoinedEngine>;

const admission = (services: FeedServices, board: WorkBoard): Admit => {
  const { leases, sessions, leaseMs, steadyMs, newSession } = services;
  const resumes = async (id: EngineSessionId): Promise<boolean> => {
    board.sessions.seen(id.session); // first, so that a check for silent sessions that runs now does not end it
    return id.session !== '' && (await sessions.renewals(id)) !== undefined && sessions.renew(id);
  };

  const sessionOf = async (requested: EngineSessionId, principal: string): Promise<EngineSessionId> => {
    if (await resumes(requested)) return requested;
    const id = { ...requested, session: newSession() };
    for (const earlier of board.sessions.namesakes(id))
      await sessions.end(earlier.id, 'another engine of this name has joined');
    await sessions.open(id, principal);
    board.sessions.opened(id);
    return id;
  };

  /** Keeps the leases that the engine names and its session holds; the engine may have missed their aborts. */
  const keepLeases = async (engine: JoinedEngine, named: WorkJoin['leases']): Promise<Kept> => {
    const kept: WorkJoin['leases'] = [];
    const aborting = new Map<StreamName, () => void>();
    for (const [index, each] of named.entries()) {
      const lease = namedLease(each, engine, `join.leases[${index}]`);
      const found = await leases.held(lease);
      if (found === undefined) continue;
      kept.push(each);
      engine.held.set(executionStream(lease.id), { number: lease.number, isSent: true });
      const { abort } = found;
      if (abort) aborting.set(executionStream(lease.id), () => sendAbort(engine, lease, abort));
    }
    return { kept, aborting };
  };

  const times = {
    leaseDuration: durationFromMs(leaseMs),
    heartbeatInterval: durationFromMs(Math.floor(leaseMs / HEARTBEATS)),
  };

  return async (join, { group, engine: name, ...joining }, { call, sendQueue }) => {
    const id = await sessionOf({ group, engine: name, session: join.session }, call.principal);
    const engine: JoinedEngine = {
      ...joining,
      ...{ group, engine: name, id, sendQueue, free: 0, seenAtMs: steadyMs(), renewedAtMs: steadyMs() },
      ...{ deciding: new Set(), held: new Map(), rejected: new Set(), postponed: new Set() },
    };
    const { kept, aborting } = id.session === join.session ? await keepLeases(engine, join.leases) : NONE_KEPT;
    // Without a stream, it would be leased executions that it never gets.
    if (sendQueue.isEnded()) throw new RpcError('UNAVAILABLE', 'the stream has ended: join again with the session');
    // Nothing would offer it executions: the streams that were open when the subscription broke were ended then.
    if (!board.isComplete()) throw new RpcError('UNAVAILABLE', 'the log cannot be read');
    board.engines.get(id.session)?.sendQueue.end(new RpcError('ABORTED', 'another stream has taken over the session'));
    board.engines.set(id.session, engine);
    sendQueue.send({ case: 'joined', value: { session: id.session, leases: kept, ...times } });
    for (const send of aborting.values()) send();
    // Only now: an execution may have ended, or its abort have been requested, since its lease was read.
    sendMissed(services, board, { engine, kept, aborting });
    board.giveBackUnknown(engine);
    engine.free = joining.places;
    board.distribute();
    return engine;
  };
};

/**
 * Admits engines: into the session that they name if it has not ended, otherwise into a new session, which ends the
 * earlier sessions of engines with the same name.
 */
export const engineAdmission = (
  services: FeedServices,
  board: WorkBoard,
): ((join: WorkJoin, arrived: OpenedStream) => Promise<JoinedEngine>) => {
  const admit = admission(services, board);
  const oneOfName = inTurn();
  return async (join, arrived) => {
    const joining = joiningOf(join, arrived.call);
    await board.start();
    return oneOfName(JSON.stringify([joining.group, joining.engine]), () => admit(join, joining, arrived));
  };
};
