import type { RecordedEvent } from '../kernel/event.js';
import { MAX_INLINE_BYTES, type Content } from '../kernel/ports/payload-store.js';
import { keyTaken } from '../kernel/command-context.js';
import { sizeOfKeys } from '../kernel/idempotency.js';
import { RpcError } from '../kernel/rpc.js';
import type { CommandContext, Folded, Outcome } from '../kernel/ports/sessions.js';
import { answerWhenDurable, startAppend, priorUseOf, settled } from './in-flight.js';
import { fold } from './fold.js';
import { appendBatched, isBatched } from './batched-append.js';
import type { CommandTurn, Decided, FoldedState, Live, ReadTurn, Turn } from './live.js';
import { appendUnbatched, catchUp, decideAtHead, mayBeStale, observe, foldObserved } from './at-head.js';

const SESSION_BYTES = 1_000;

/** The ticket of a read that accepts the state as it is folded. */
const BEFORE_ALL = 0;

const sizeOfFolded = <S>(aggregate: { sizeOf(state: S): number }, { state, keys }: FoldedState<S>): number =>
  aggregate.sizeOf(state) + (keys === undefined ? 0 : sizeOfKeys(keys));

/** A live stream: its state with all events in flight, and the turns that wait. */
export interface Session<State, Command, Refusal> {
  handle(command: Command, context: CommandContext): Promise<Outcome<Refusal>>;
  read<Answer>(look: (folded: Folded<State>) => Answer): Promise<Answer>;
  readKnown<Answer>(look: (folded: Folded<State>) => Answer): Promise<Answer>;
  /** Called with each event of its stream, in order, recorded by any process. */
  observe(event: RecordedEvent): void;
  /** The approximate memory, in bytes. */
  size(): number;
  isIdle(): boolean;
  /** True when hardly any further use is expected. */
  isOver(): boolean;
}

/**
 * Opens a session on a stream. Commands are decided one after another on a state that includes all commands before
 * them, so that they share a commit; a command is answered when everything that its decision depends on is durable.
 * When an append fails, the state is folded again and the decisions that depended on it are made again. On a shared log
 * one append of the stream is in flight at a time, for one command or a batch, and refusals that are not permanent are
 * given only at the head of the stream.
 */
export const openSession = <State, Command, Event, Refusal>(
  start: Pick<Live<State, Command, Event, Refusal>, 'aggregate' | 'stream' | 'services' | 'onDurable'>,
): Session<State, Command, Refusal> => {
  const live: Live<State, Command, Event, Refusal> = {
    folded: undefined,
    isPresumedAbsent: false,
    parked: undefined,
    position: 0n,
    recordedAtMs: 0,
    lastTicket: 0,
    currentForTicket: 0,
    observed: [],
    isBusy: false,
    isSending: false,
    unbatchedFor: 0,
    hasFailed: false,
    queue: [],
    inFlight: [],
    onSettled: undefined,
    // Last: an object literal that begins with a spread gets V8's slow kind of object.
    ...start,
  };
  const enqueue = (turn: Turn<State, Command, Refusal>): void => {
    live.queue.push(turn);
    if (!live.isBusy) void takeTurns(live);
  };
  const ticket = (): number => (live.lastTicket += 1);
  const read = <Answer>(ticket: number, look: (folded: Folded<State>) => Answer): Promise<Answer> =>
    new Promise((resolve, reject) =>
      enqueue({ kind: 'read', ticket, look: (folded) => resolve(look(folded)), reject }),
    );
  return {
    handle: (command, context) =>
      new Promise((resolve, reject) =>
        enqueue({ kind: 'command', command, context, ticket: ticket(), attempts: 0, resolve, reject }),
      ),
    read: (look) => read(ticket(), look),
    readKnown: (look) => read(BEFORE_ALL, look),
    observe: (event) => observe(live, event),
    size: () => SESSION_BYTES + (live.folded === undefined ? 0 : sizeOfFolded(live.aggregate, live.folded)),
    isIdle: () => live.queue.length === 0 && live.inFlight.length === 0 && !live.isBusy,
    isOver: () => live.folded !== undefined && live.aggregate.isOver?.(live.folded.state) === true,
  };
};

/**
 * The state that is assumed when the next command creates its stream. No read is needed: if the stream exists after
 * all, the append fails.
 */
const beginning = <S, C, E, R>({ aggregate, queue }: Live<S, C, E, R>): { state: S; revision: bigint } | undefined => {
  const [turn] = queue;
  const isFirst = turn?.kind === 'command' && turn.attempts === 0 && aggregate.createsStream?.(turn.command) === true;
  return isFirst ? { state: aggregate.decider.initial(), revision: -1n } : undefined;
};

const begun = async <S, C, E, R>(live: Live<S, C, E, R>): Promise<FoldedState<S>> => {
  const presumed = beginning(live);
  live.isPresumedAbsent = presumed !== undefined;
  return presumed ?? fold(live);
};

/** Takes turns until none waits or an append has failed. It yields only where a turn has to wait. */
const takeTurns = async <S, C, E, R>(live: Live<S, C, E, R>): Promise<void> => {
  live.isBusy = true;
  try {
    while (live.queue.length > 0 && !live.hasFailed) {
      foldObserved(live);
      // An assumed state that no event of its command has confirmed is dropped.
      if (live.isPresumedAbsent) live.folded = undefined;
      const folded = (live.folded ??= await begun(live));
      const turn = live.queue.shift();
      const waiting = turn === undefined ? undefined : takeTurn(live, turn, folded);
      if (waiting !== undefined) await waiting;
    }
  } catch (error) {
    for (const turn of live.queue.splice(0)) turn.reject(error);
  } finally {
    live.isBusy = false;
    if (live.queue.length === 0) live.queue = []; // an emptied array keeps capacity for sixteen elements
  }
};

/** Lets a read see the durable state. Later commands wait meanwhile, so that none of their events are in it. */
const show = <S, C, E, R>(
  live: Live<S, C, E, R>,
  turn: ReadTurn<S>,
  folded: FoldedState<S>,
): Promise<void> | undefined => {
  if (live.inFlight.length > 0) return settled(live).then(() => void live.queue.unshift(turn));
  if (live.services.isShared === true && live.currentForTicket < turn.ticket) return showAtHead(live, turn);
  turn.look({ ...folded, position: live.position });
  return undefined;
};

const showAtHead = async <S, C, E, R>(live: Live<S, C, E, R>, turn: ReadTurn<S>): Promise<void> => {
  try {
    await catchUp(live);
    live.queue.unshift(turn);
  } catch (error) {
    turn.reject(error);
  }
};

const takeTurn = <S, C, E, R>(
  live: Live<S, C, E, R>,
  turn: Turn<S, C, R>,
  folded: FoldedState<S>,
): Promise<void> | undefined => {
  try {
    return turn.kind === 'read' ? show(live, turn, folded) : decide(live, turn, folded.state)?.catch(turn.reject);
  } catch (error) {
    turn.reject(error);
    return undefined;
  }
};

/**
 * Decides a command.
 *
 * @returns a promise only when the stream has to wait for something.
 */
const decide = <S, C, E, R>(live: Live<S, C, E, R>, turn: CommandTurn<C, R>, state: S): Promise<void> | undefined => {
  if (turn.context.isCancelled?.() === true) throw new RpcError('CANCELLED', 'the caller has gone');
  const prior = priorUseOf(live, turn);
  if (prior === 'another') throw keyTaken();
  if (prior === 'same') {
    answerWhenDurable(live, turn, undefined);
    return undefined;
  }
  const decision = live.aggregate.decider.decide(state, turn.command);
  if (decision.kind === 'unsure') return decideWithPast(live, turn, decision.at);
  const refusal = decision.kind === 'refused' ? decision.refusal : undefined;
  const decided = { events: decision.events ?? [], refusal };
  return mayBeStale(live, turn, decided) ? decideAtHead(live, turn) : record(live, turn, decided);
};

const record = <S, C, E, R>(
  live: Live<S, C, E, R>,
  turn: CommandTurn<C, R>,
  { events, refusal }: Decided<E, R>,
): Promise<void> | undefined => {
  if (events.length === 0) {
    answerWhenDurable(live, turn, refusal);
    return undefined;
  }
  const large = events.flatMap((event) => live.aggregate.codec.contents(event).filter(isLarge));
  if (large.length > 0 && !live.isPresumedAbsent) return moveThenAppend(live, turn, { events, refusal }, large);
  if (large.length === 0) return send(live, turn, { events, refusal });
  lookFirst(live, turn);
  return undefined;
};

/** Appends the events of a command: at once, or on a shared log alone or in a batch. */
const send = <S, C, E, R>(
  live: Live<S, C, E, R>,
  turn: CommandTurn<C, R>,
  decided: Decided<E, R>,
): Promise<void> | undefined => {
  const isShared = live.services.isShared === true;
  if (isShared && !isBatched(live)) return appendUnbatched(live, turn, decided);
  (isShared ? appendBatched : startAppend)(live, turn, decided, (again) => startAgain(live, again));
  return undefined;
};

/**
 * Queues the command again to be decided after reading the stream: no payload is stored for a stream that may exist and
 * belong to another command.
 */
const lookFirst = <S, C, E, R>(live: Live<S, C, E, R>, turn: CommandTurn<C, R>): void => {
  live.folded = undefined;
  live.queue.unshift({ ...turn, attempts: turn.attempts + 1 });
};

const isLarge = ({ content }: Content): boolean => content.case === 'inline' && content.value.length > MAX_INLINE_BYTES;

/** True when some of these revisions are in flight, so that another event may take them. */
const isOnItsWay = <S, C, E, R>({ inFlight: [first] }: Live<S, C, E, R>, at: readonly bigint[]): boolean =>
  first !== undefined && (at.at(-1) ?? -1n) > first.revision - BigInt(first.encoded.length);

/**
 * Reads the events that a decision needs and queues the command again with them. They are durable: when one is in
 * flight, the command waits first.
 */
const decideWithPast = async <S, C, E, R>(
  live: Live<S, C, E, R>,
  turn: CommandTurn<C, R>,
  at: readonly bigint[],
): Promise<void> => {
  const { aggregate, services, stream } = live;
  if (aggregate.compareWithRecorded === undefined)
    throw new Error(`${aggregate.category} has an unsure decision and no compareWithRecorded`);
  if (isOnItsWay(live, at)) {
    await settled(live);
    live.queue.unshift(turn);
    return;
  }
  const past: RecordedEvent[] = [];
  for (const from of at)
    for await (const page of services.store.readStream(stream, { from, limit: 1 })) past.push(...page);
  const command = await aggregate.compareWithRecorded(turn.command, past);
  live.queue.unshift({ ...turn, command });
};

const moveThenAppend = async <S, C, E, R>(
  live: Live<S, C, E, R>,
  turn: CommandTurn<C, R>,
  decided: Decided<E, R>,
  large: readonly Content[],
): Promise<void> => {
  const scope = live.aggregate.payloadScope(turn.command);
  for (const part of large) {
    const bytes = part.content.case === 'inline' ? part.content.value : new Uint8Array();
    part.content = { case: 'ref', value: await live.services.payloads.put(scope, bytes) };
  }
  // An append before this one may have failed meanwhile; then the decision is no longer valid.
  if (live.folded === undefined || live.hasFailed) live.queue.unshift(turn);
  else await send(live, turn, decided);
};

const startAgain = <S, C, E, R>(live: Live<S, C, E, R>, again: Turn<S, C, R>[]): void => {
  live.folded = undefined;
  live.hasFailed = false;
  live.queue = [...again, ...live.queue];
  if (!live.isBusy && live.queue.length > 0) void takeTurns(live);
};
