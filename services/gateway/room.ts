import type { Socket } from 'node:net';

import { RpcError } from '../kernel/rpc.js';
import { type Reader, type ReaderWatch, watchReaders } from './readers.js';

/** How much memory may be held for calls: for answers until they are read, or for requests until they are answered. */
export type RoomLimits = {
  readonly perConnectionBytes: number;
  /** Over all connections. */
  readonly totalBytes: number;
  /** A call waits for room no longer than this. */
  readonly waitMs: number;
  /** Who has answers to read and reads none of them for so long, or is to send and sends nothing, is given up. */
  readonly patienceMs: number;
};

/** What one call takes of the room. */
export interface CallRoom {
  /**
   * Waits until there is room for what is about to be received or put together. A call that holds room already gets
   * more at once, because it can only end by getting it.
   *
   * @throws {RpcError} RESOURCE_EXHAUSTED when there is none in time; CANCELLED when the call ends first.
   */
  make(bytes: number): Promise<void>;
  /**
   * Exchanges what the call holds for the answer that it came to, which is on its way now.
   *
   * @throws {RpcError} RESOURCE_EXHAUSTED when there is no room for it.
   */
  fill(bytes: number): void;
  /** Gives everything back: the answer was read, or nobody waits for it. */
  readonly leave: () => void;
}

/** A bounded part of the memory. */
export interface Room {
  readonly limits: RoomLimits;
  /** Opens the account of a call that came by a connection. Only who leaves in the end may make or fill. */
  open(socket: Socket): CallRoom;
  readonly close: () => void;
}

/** What all calls hold together, and who waits to get in. */
type Ledger = {
  readonly limits: RoomLimits;
  readonly exhausted: Exhausted;
  readonly watch: ReaderWatch;
  readonly waiting: Set<Waiting>;
  totalBytes: number;
};

/** What one call holds. */
type Account = { readonly ledger: Ledger; readonly reader: Reader; heldBytes: number; sendingBytes: number };

type Waiting = { readonly account: Account; readonly bytes: number; readonly enter: () => void };

/** What who finds no room is told. */
type Exhausted = (where: 'here' | 'on this connection') => RpcError;

const MAX_WAITING = 1_000;
const RETRY_AFTER_MS = 1_000;

const tooMuch =
  (what: (where: string) => string): Exhausted =>
  (where) =>
    new RpcError('RESOURCE_EXHAUSTED', what(where), [], RETRY_AFTER_MS);

const gone = (): RpcError => new RpcError('CANCELLED', 'the caller has gone');

// Whoever is alone gets in, however large: else one that is above the limit would wait for ever.
const isOwnFull = ({ reader, ledger }: Account, bytes: number): boolean =>
  reader.heldBytes > 0 && reader.heldBytes + bytes > ledger.limits.perConnectionBytes;

const isTotalFull = ({ totalBytes, limits }: Ledger, bytes: number): boolean =>
  totalBytes > 0 && totalBytes + bytes > limits.totalBytes;

const fits = (account: Account, bytes: number): boolean =>
  account.heldBytes > 0 || !(isOwnFull(account, bytes) || isTotalFull(account.ledger, bytes));

const hold = (account: Account, bytes: number): void => {
  account.heldBytes += bytes;
  account.reader.heldBytes += bytes;
  account.ledger.totalBytes += bytes;
};

/** In the order of arrival; who waits for their own connection alone holds nobody up, and who holds some goes on. */
const admit = (ledger: Ledger): void => {
  let isBlocked = false;
  for (const { account, bytes, enter } of ledger.waiting) {
    if (account.reader.socket.destroyed) continue;
    if (fits(account, bytes) && (!isBlocked || account.heldBytes > 0)) enter();
    else isBlocked ||= isTotalFull(ledger, bytes) && !isOwnFull(account, bytes);
  }
};

const turnOf = (account: Account, bytes: number, abandoned: AbortSignal): Promise<void> => {
  const { waiting, limits, exhausted } = account.ledger;
  return new Promise((resolve, reject) => {
    const end = (): void => {
      clearTimeout(timer);
      waiting.delete(each);
      abandoned.removeEventListener('abort', abandon);
    };
    const enter = (): void => {
      hold(account, bytes);
      end();
      resolve();
    };
    const refuse = (error: RpcError): void => {
      end();
      reject(error);
    };
    const abandon = (): void => refuse(gone());
    const each: Waiting = { account, bytes, enter };
    const timer = setTimeout(() => refuse(exhausted('here')), limits.waitMs);
    abandoned.addEventListener('abort', abandon);
    waiting.add(each);
  });
};

const make = (account: Account, bytes: number, abandoned: AbortSignal): Promise<void> => {
  const { ledger } = account;
  if (abandoned.aborted) return Promise.reject(gone());
  if (ledger.waiting.size >= MAX_WAITING) return Promise.reject(ledger.exhausted('here'));
  const turn = turnOf(account, bytes, abandoned);
  admit(ledger);
  return turn;
};

const fill = (account: Account, bytes: number): void => {
  const { ledger, reader } = account;
  hold(account, -account.heldBytes);
  const isRefused = !fits(account, bytes);
  const where = isOwnFull(account, bytes) ? 'on this connection' : 'here';
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
  if (account.heldBytes === 0) return;
  hold(account, -account.heldBytes);
  account.sendingBytes = 0;
  if (sendingBytes > 0) ledger.watch.sent(reader, sendingBytes);
  // Later, because the calls of a connection that has gone end one by one: none is let in by the one before.
  setImmediate(admit, ledger);
};

const openRoom = (limits: RoomLimits, exhausted: Exhausted): Room => {
  const watch = watchReaders(limits.patienceMs);
  const ledger: Ledger = { limits, exhausted, watch, waiting: new Set(), totalBytes: 0 };
  return {
    limits,
    open: (socket) => {
      const account: Account = { ledger, reader: watch.of(socket), heldBytes: 0, sendingBytes: 0 };
      const end = new AbortController();
      return {
        make: async (bytes) => {
          await make(account, bytes, end.signal);
          if (end.signal.aborted) throw gone();
        },
        fill: (bytes) => {
          if (end.signal.aborted) throw gone(); // nobody is left who would give it back
          fill(account, bytes);
        },
        leave: () => {
          end.abort();
          leave(account);
        },
      };
    },
    close: () => watch.close(),
  };
};

/** The room of one process for answers that nobody has read, for all its transports. */
export const answerRoom = (limits: RoomLimits): Room =>
  openRoom(
    limits,
    tooMuch((where) => `too many answers wait to be read ${where}: read them, or ask for less at a time`),
  );

/** The room of one process for requests that are received or worked on, for all its transports. */
export const requestRoom = (limits: RoomLimits): Room =>
  openRoom(
    limits,
    tooMuch((where) => `too many large requests are on their way ${where}: send fewer of them at a time`),
  );
