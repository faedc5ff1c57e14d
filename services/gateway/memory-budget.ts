import type { Socket } from 'node:net';

import { callerDisconnected, RpcError } from '../kernel/rpc.js';
import { type Reader, type SlowConsumerWatch, watchSlowConsumers } from './slow-consumers.js';

/** Limits of a memory budget: for answers until they are read, or for requests until they are answered. */
export type MemoryBudgetLimits = {
  readonly perConnectionBytes: number;
  /** Over all connections. */
  readonly totalBytes: number;
  /** The longest time that a call waits for memory, in milliseconds. */
  readonly waitMs: number;
  /** A connection that reads no answers, or a request in the budget that stops arriving, is ended after this time. */
  readonly stallTimeoutMs: number;
};

/** The share of one call in a memory budget. */
export interface MemoryReservation {
  /**
   * Reserves memory for what is about to be received or composed, and waits while the budget is full. A call that
   * holds memory already gets more regardless of the limits, because it can only finish by getting it.
   *
   * @throws {RpcError} RESOURCE_EXHAUSTED when the budget stays full for `waitMs` or too many calls wait; CANCELLED
   * when the call ends first.
   */
  reserve(bytes: number): Promise<void>;
  /**
   * Replaces all that the call holds by the size of its answer, which is in flight from now on. Never waits.
   *
   * @throws {RpcError} RESOURCE_EXHAUSTED when the answer does not fit; CANCELLED after `release()`.
   */
  resizeToAnswer(bytes: number): void;
  /** Releases everything: the answer was read, or the call has ended without it. */
  readonly release: () => void;
}

/** A memory budget that calls of all connections share. */
export interface MemoryBudget {
  readonly limits: MemoryBudgetLimits;
  /** Opens the reservation of a call on a connection. Callers must call `release()`; using it afterwards throws. */
  open(socket: Socket): MemoryReservation;
  readonly close: () => void;
}

/** The memory that all calls hold together, and the calls that wait for some. */
type Ledger = {
  readonly limits: MemoryBudgetLimits;
  readonly exhausted: Exhausted;
  readonly watch: SlowConsumerWatch;
  readonly waiting: Set<Waiting>;
  totalBytes: number;
  /** True while {@link admitSoon} has yet to admit calls. */
  isAdmitting: boolean;
};

/** The memory that one call holds. */
type Account = {
  readonly ledger: Ledger;
  readonly reader: Reader;
  heldBytes: number;
  sendingBytes: number;
  isReleased: boolean;
};

type Waiting = {
  readonly account: Account;
  readonly bytes: number;
  readonly enter: () => void;
  /** Refuses the call for lack of memory. */
  readonly refuse: () => void;
  /** Refuses the call because it has ended. */
  readonly abandon: () => void;
};

type Place = 'here' | 'on this connection';

/** Makes the error for a call that gets no memory. */
type Exhausted = (where: Place) => RpcError;

/** The most calls that wait for memory; for each further one, a call is refused. */
const MAX_WAITING = 1_000;
const RETRY_AFTER_MS = 1_000;

const exhaustedError =
  (textFor: (where: string) => string): Exhausted =>
  (where) =>
    new RpcError('RESOURCE_EXHAUSTED', textFor(where), [], RETRY_AFTER_MS);

// While nothing else is held, a call of any size is admitted: one above the limit would otherwise never get in.
const isOwnFull = ({ reader, ledger }: Account, bytes: number): boolean =>
  reader.heldBytes > 0 && reader.heldBytes + bytes > ledger.limits.perConnectionBytes;

const isTotalFull = ({ totalBytes, limits }: Ledger, bytes: number): boolean =>
  totalBytes > 0 && totalBytes + bytes > limits.totalBytes;

const fits = (account: Account, bytes: number): boolean =>
  account.heldBytes > 0 || !(isOwnFull(account, bytes) || isTotalFull(account.ledger, bytes));

/** The limit that stands in the way of more memory for a call, in the words of the error. */
const fullPlace = (account: Account, bytes: number): Place =>
  isOwnFull(account, bytes) ? 'on this connection' : 'here';

const hold = (account: Account, bytes: number): void => {
  account.heldBytes += bytes;
  account.reader.heldBytes += bytes;
  account.ledger.totalBytes += bytes;
};

/**
 * Admits waiting calls in order of arrival. A call that does not fit the limit of its own connection does not block the
 * calls behind it, and a call that holds memory already is never blocked.
 */
const admit = (ledger: Ledger): void => {
  let isBlocked = false;
  for (const { account, bytes, enter } of ledger.waiting) {
    if (account.reader.socket.destroyed) continue;
    if (fits(account, bytes) && (!isBlocked || account.heldBytes > 0)) enter();
    else isBlocked ||= isTotalFull(ledger, bytes) && !isOwnFull(account, bytes);
  }
};

/**
 * Admits waiting calls once the present turn of the event loop is over: the calls of a closed connection end one after
 * the other, and the end of one must not admit the next.
 */
const admitSoon = (ledger: Ledger): void => {
  if (ledger.isAdmitting || ledger.waiting.size === 0) return;
  ledger.isAdmitting = true;
  setImmediate(() => {
    ledger.isAdmitting = false;
    admit(ledger);
  });
};

/**
 * The call to refuse when too many wait: the newest of those that wait for memory of their own connection, so that such
 * calls take no place from other connections; `undefined` when there are none.
 */
const surplusOf = ({ waiting }: Ledger): Waiting | undefined => {
  let newest: Waiting | undefined;
  for (const each of waiting) if (isOwnFull(each.account, each.bytes)) newest = each;
  return newest;
};

const waitFor = (account: Account, bytes: number): Promise<void> => {
  const { ledger } = account;
  const { waiting, limits, exhausted } = ledger;
  return new Promise((resolve, reject) => {
    const end = (): void => {
      clearTimeout(timer);
      waiting.delete(each);
    };
    const enter = (): void => {
      hold(account, bytes);
      end();
      resolve();
    };
    const fail = (error: RpcError): void => {
      end();
      reject(error);
      admitSoon(ledger); // calls behind this one may need less
    };
    const refuse = (): void => fail(exhausted(fullPlace(account, bytes)));
    const abandon = (): void => fail(callerDisconnected());
    const each: Waiting = { account, bytes, enter, refuse, abandon };
    const timer = setTimeout(refuse, limits.waitMs);
    waiting.add(each);
    admit(ledger);
    if (waiting.size > MAX_WAITING) (surplusOf(ledger) ?? each).refuse();
  });
};

const reserve = async (account: Account, bytes: number): Promise<void> => {
  const { ledger, reader, isReleased } = account;
  if (isReleased) throw callerDisconnected();
  if (ledger.waiting.size === 0 && !reader.socket.destroyed && fits(account, bytes)) hold(account, bytes);
  else await waitFor(account, bytes);
  if (account.isReleased) throw callerDisconnected();
};

const holdAnswer = (account: Account, bytes: number): void => {
  const { ledger, reader } = account;
  hold(account, -account.heldBytes);
  const isRefused = !fits(account, bytes);
  const where = fullPlace(account, bytes);
  if (!isRefused) {
    hold(account, bytes);
    account.sendingBytes = bytes;
    ledger.watch.sends(reader, bytes);
  }
  admit(ledger);
  if (isRefused) throw ledger.exhausted(where);
};

const leave = (account: Account): void => {
  const { ledger, reader, sendingBytes } = account;
  account.isReleased = true;
  for (const each of ledger.waiting) if (each.account === account) each.abandon();
  if (account.heldBytes === 0) return;
  hold(account, -account.heldBytes);
  account.sendingBytes = 0;
  if (sendingBytes > 0) ledger.watch.sent(reader, sendingBytes);
  admitSoon(ledger);
};

const openBudget = (limits: MemoryBudgetLimits, exhausted: Exhausted): MemoryBudget => {
  const watch = watchSlowConsumers(limits.stallTimeoutMs);
  const ledger: Ledger = { limits, exhausted, watch, waiting: new Set(), totalBytes: 0, isAdmitting: false };
  return {
    limits,
    open: (socket) => {
      const account: Account = { ledger, reader: watch.of(socket), heldBytes: 0, sendingBytes: 0, isReleased: false };
      return {
        reserve: (bytes) => reserve(account, bytes),
        resizeToAnswer: (bytes) => {
          if (account.isReleased) throw callerDisconnected(); // and would not be released again
          holdAnswer(account, bytes);
        },
        release: () => leave(account),
      };
    },
    close: () => watch.close(),
  };
};

/** The connection of a call, and the stream whose event `close` ends the call. */
type AnswerStream = {
  readonly socket: Socket;
  readonly stream: { once(event: 'close', listener: () => void): unknown };
  readonly isGone: () => boolean;
};

/**
 * Returns a function that opens the reservation of a call in the budget for answers when it is first called, because
 * most answers are too small to need one. The end of the call releases the reservation.
 *
 * @throws {RpcError} from that function: CANCELLED when the call has ended.
 */
export const lazyReservation = (
  answers: MemoryBudget,
  { socket, stream, isGone }: AnswerStream,
): (() => MemoryReservation) => {
  let reservation: MemoryReservation | undefined;
  return () => {
    if (reservation) return reservation;
    if (isGone()) throw callerDisconnected();
    reservation = answers.open(socket);
    stream.once('close', reservation.release);
    return reservation;
  };
};

/** Opens a memory budget for answers that callers have not read. */
export const answerBudget = (limits: MemoryBudgetLimits): MemoryBudget =>
  openBudget(
    limits,
    exhaustedError((where) => `too many answers wait to be read ${where}: read them, or ask for less at a time`),
  );

/** Opens a memory budget for requests that are received or processed. */
export const requestBudget = (limits: MemoryBudgetLimits): MemoryBudget =>
  openBudget(
    limits,
    exhaustedError((where) => `too many large requests are in flight ${where}: send fewer of them at a time`),
  );
