import { randomUUID } from 'node:crypto';

import { create } from '@bufbuild/protobuf';

import { DeadLetterRecordedSchema } from '../../../proto/gen/platformidl/eventlog/dead_letter_pb.js';
import type { DeadLetterCommand, DeadLetterRecord } from '../../dead-letter/commands.js';
import {
  deadLetterAggregate,
  letterAt,
  letterKey,
  letterMessage,
  MAX_DEAD_LETTERS,
} from '../../dead-letter/decider.js';
import { DEAD_LETTER_CATEGORY, deadLetterCodec, deadLetterStream } from '../../dead-letter/events.js';
import { decodeEvent } from '../../kernel/decode-event.js';
import type { RecordedEvent } from '../../kernel/event.js';
import { StoreUnavailable, StreamParked } from '../../kernel/fault.js';
import { parkableFold } from '../../kernel/log-readers/parkable-fold.js';
import type { ParkedStreams } from '../../kernel/log-readers/parked-streams.js';
import type { EventLog } from '../../kernel/ports/event-store.js';
import type { Sessions } from '../../kernel/ports/sessions.js';
import type { Timers } from '../../kernel/ports/timers.js';
import { errorText } from '../../kernel/error-text.js';

/** The dead letters of one reactor, recorded in the log, so that a restart and another process find them. */
export interface DeadLetters {
  /** Waits until everything that was recorded before the start is known. */
  ready(): Promise<void>;
  /** True for an event whose work is a dead letter, or was skipped. */
  has(event: LetterKey): boolean;
  /** True for an event whose work was skipped. */
  isSkipped(event: LetterKey): boolean;
  /** The number of open dead letters. */
  count(): number;
  /**
   * The dead letters to retry at the start: an operator has asked for it, or a parked stream may have become readable
   * with an upgrade.
   */
  retrying(): readonly DeadLetterRecord[];
  /**
   * Records that work is given up.
   *
   * @throws {Error} when the reactor has too many dead letters, or the log cannot be written.
   */
  record(letter: DeadLetterRecord): Promise<void>;
  /** Records that the work of a dead letter was done; does nothing for other events. */
  settle(event: LetterKey): Promise<void>;
  /** Rejects when the log can no longer be followed. */
  readonly ended: Promise<void>;
  close(): Promise<void>;
}

/** The stream and the revision of an event. */
type LetterKey = Pick<DeadLetterRecord, 'stream' | 'revision'>;

export type DeadLettersOptions = {
  /** The name of the reactor. */
  readonly name: string;
  readonly log: Pick<EventLog, 'head' | 'readStream' | 'subscribe'>;
  readonly sessions: Pick<Sessions, 'handle'>;
  readonly timers: Pick<Timers, 'after'>;
  /**
   * Letters of parked streams are tried again when a stream is resumed. While the stream of the letters itself is
   * parked, the letters are those before the event that cannot be read, and none is recorded.
   */
  readonly parked: Pick<ParkedStreams, 'note' | 'onResuming' | 'onResumed'>;
};

/**
 * The event that a dead letter is about. `sinceMs` is when its work was first due, in milliseconds since 1970; for an
 * event whose stream was parked, when the event was read.
 */
export type FailedEvent = Pick<DeadLetterRecord, 'position' | 'stream' | 'revision' | 'sinceMs'>;

const isOfParked = ({ parked }: DeadLetterRecord): boolean => parked;

/** The longest reason that is recorded, in characters. */
const MAX_REASON = 1_000;

/** Makes the dead letter of work that has failed `attempts` times in a row. */
export const letterOf = (event: FailedEvent, error: unknown, attempts: number): DeadLetterRecord => {
  const { position, stream, revision, sinceMs } = event;
  const reason = errorText(error).slice(0, MAX_REASON);
  return { position, stream, revision, sinceMs, reason, attempts, parked: error instanceof StreamParked };
};

/** The dead letters of a reactor that never gives work up: it has none. */
export const NO_DEAD_LETTERS: DeadLetters = {
  ready: () => Promise.resolve(),
  has: () => false,
  isSkipped: () => false,
  count: () => 0,
  retrying: () => [],
  record: () => Promise.reject(new Error('this reactor gives nothing up')),
  settle: () => Promise.resolve(),
  ended: Promise.resolve(),
  close: () => Promise.resolve(),
};

/** Opens the dead letters of a reactor; `onRetry` is called with each that is to be retried from now on. */
export type OpenDeadLetters = (onRetry: (letter: DeadLetterRecord) => void) => DeadLetters;

/** The dead letters of a reactor as far as its process knows them. */
const knownLetters = (name: string, onRetry: (letter: DeadLetterRecord) => void) => {
  const { decider } = deadLetterAggregate;
  const known = { state: decider.initial(), revision: -1n, isLive: false, resumed: 0 };

  /** Applies an event of the stream, read at the start or brought by the subscription. */
  const apply = (each: RecordedEvent): void => {
    if (each.revision <= known.revision) return;
    const event = decodeEvent(deadLetterCodec, each);
    known.revision = each.revision;
    known.state = decider.evolve(known.state, event);
    if (!known.isLive || event.type !== 'DeadLetterRetryRequested') return;
    const letter = letterAt(known.state, event.data.position);
    if (letter) onRetry(letter);
  };

  /**
   * Adds a letter that is in the log up to a revision, unless the subscription has delivered that revision already. A
   * letter that was skipped, or open and not being retried, was not recorded again, and stays as it is.
   */
  const add = (letter: DeadLetterRecord, upTo: bigint): void => {
    const key = letterKey(letter);
    if (upTo <= known.revision || known.state.skipped.has(key)) return;
    if (known.state.open.get(key)?.isRetrying === false) return;
    const data = create(DeadLetterRecordedSchema, { letter: letterMessage(name, letter) });
    known.state = decider.evolve(known.state, { type: 'DeadLetterRecorded', data });
  };
  return { known, apply, add };
};

/** The pause before the log is read again after it could not be reached, in milliseconds. */
const PAUSE_MS = 1_000;

/** Makes attempts to read the log, with pauses, until it can be reached or `close` is called. */
const persistentReads = ({ after }: Pick<Timers, 'after'>) => {
  const state = { isClosed: false, close: (): void => undefined };
  const closed = new Promise<void>((resolve) => {
    state.close = () => {
      state.isClosed = true;
      resolve();
    };
  });
  const pause = (): Promise<void> =>
    Promise.race([closed, new Promise<void>((resolve) => void after(PAUSE_MS, resolve))]);

  /** Returns `undefined` when it was closed before an attempt has succeeded. */
  const read = async <Result>(attempt: () => Promise<Result>): Promise<Result | undefined> => {
    while (!state.isClosed) {
      try {
        return await attempt();
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
      }
      await pause();
    }
    return undefined;
  };
  return { read, close: () => state.close() };
};

/** Makes the function that opens the dead letters of a reactor. */
export const deadLetters =
  ({ name, log, sessions, timers, parked }: DeadLettersOptions): OpenDeadLetters =>
  (onRetry) => {
    const stream = deadLetterStream(name);
    const { known, apply, add } = knownLetters(name, onRetry);
    const filter = { categories: [DEAD_LETTER_CATEGORY] };

    const fold = parkableFold(apply, (error) => parked.note(error));
    const take = (each: RecordedEvent): void => {
      if (each.stream === stream) fold.fold(each);
    };
    const endResuming = parked.onResuming((resumed) => fold.resume(resumed, log));

    // The letter names the stream of its event; the stream that is parked may be another.
    const endResumed = parked.onResumed(() => {
      known.resumed += 1;
      [...known.state.open.values()].filter(isOfParked).forEach(onRetry);
    });

    const reads = persistentReads(timers);
    // The stream is read by itself: a subscription from the start would read the whole log of an event store.
    const begun = reads.read(async () => {
      const after = await log.head();
      for await (const page of log.readStream(stream)) page.forEach(take);
      known.isLive = true;
      return log.subscribe({ after, filter }, ({ events }) => events.forEach(take));
    });
    const ended = begun.then((following) => following?.ended);
    ended.catch(() => undefined); // not unhandled: callers may await `ended` later

    /** Decides a command; returns a revision of the stream at or after the event that the command has recorded. */
    const handle = async (command: DeadLetterCommand): Promise<bigint> => {
      const outcome = await sessions.handle(deadLetterAggregate, stream, command, {
        actor: name,
        commandId: randomUUID(),
      });
      if (outcome.kind === 'refused') throw new Error(`${name} has ${MAX_DEAD_LETTERS} dead letters already`);
      return outcome.revision;
    };

    const record = async (letter: DeadLetterRecord): Promise<void> => {
      const resumedBefore = known.resumed;
      add(letter, await handle({ type: 'RecordDeadLetter', reactor: name, letter }));
      // A stream that was resumed meanwhile is not resumed again.
      if (letter.parked && known.resumed !== resumedBefore) onRetry(letter);
    };

    return {
      ready: () => begun.then(() => undefined),
      has: (event) => known.state.open.has(letterKey(event)) || known.state.skipped.has(letterKey(event)),
      isSkipped: (event) => known.state.skipped.has(letterKey(event)),
      count: () => known.state.open.size,
      retrying: () => [...known.state.open.values()].filter((letter) => letter.isRetrying || isOfParked(letter)),
      record,
      settle: async (event) => {
        const letter = known.state.open.get(letterKey(event));
        if (letter) await handle({ type: 'SettleDeadLetter', reactor: name, position: letter.position });
      },
      ended,
      close: () => {
        endResuming();
        endResumed();
        reads.close();
        return begun.then(
          (following) => following?.close(),
          () => undefined,
        );
      },
    };
  };
