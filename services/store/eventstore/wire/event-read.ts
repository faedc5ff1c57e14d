import { Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { type Position, StreamNotFoundError } from '@eventstore/db-client';
import { callError, type ReadCall } from './calls.js';
import type { Mark, ReadAnswer } from './read-answer.js';

/** Events that wait to be taken before the server is not listened to. */
const HIGH_WATER_MARK = 256;

/**
 * What a read or subscription brings, in the library's form: a stream of `{ event }`, which says `caughtUp` besides.
 * Errors are the library's; its own are said and end the stream, as there, after what has come before.
 */
class EventRead extends Readable {
  readonly #opening: Promise<ReadCall>;
  readonly #onCheckpoint: ((position: Position) => unknown) | undefined;
  #call: ReadCall | undefined;
  #isLeft = false;

  constructor(opening: Promise<ReadCall>, onCheckpoint?: (position: Position) => unknown) {
    super({ objectMode: true, highWaterMark: HIGH_WATER_MARK });
    this.#opening = opening;
    this.#onCheckpoint = onCheckpoint;
    opening.then(
      (call) => this.#follow(call),
      (error: unknown) => this.#fail(error),
    );
  }

  #follow(call: ReadCall): void {
    this.#call = call;
    call.on('data', (answer: ReadAnswer) => this.#take(call, answer));
    call.on('error', (error: Error) => this.#fail(error));
    call.on('end', () => this.push(null));
  }

  #fail(error: unknown): void {
    if (this.#isLeft) this.push(null);
    else this.emit('error', callError(error));
  }

  #take(call: ReadCall, answer: ReadAnswer): void {
    if ('mark' in answer) this.#note(call, answer);
    else if (!this.push({ event: answer })) call.pause();
  }

  #note(call: ReadCall, mark: Mark): void {
    if (mark.mark === 'caught-up') this.emit('caughtUp');
    else if (mark.mark === 'checkpoint') this.#onCheckpoint?.({ commit: mark.position, prepare: mark.position });
    else if (mark.mark === 'not-found') {
      this.#isLeft = true;
      this.emit('error', new StreamNotFoundError(null as never));
      call.cancel();
    }
  }

  override _read(): void {
    this.#call?.resume();
  }

  /** Leaves it before its end. */
  async cancel(): Promise<void> {
    this.#isLeft = true;
    const call = await this.#opening;
    await turn(); // a call that is cancelled in the turn in which it was opened is not
    call.resume();
    call.cancel();
  }

  /** The same, of a subscription. */
  unsubscribe(): Promise<void> {
    return this.cancel();
  }
}

/** Makes a stream of the library's kind of what a call brings; its caller knows which kind it has asked for. */
export const eventRead = (opening: Promise<ReadCall>, onCheckpoint?: (position: Position) => unknown): unknown =>
  new EventRead(opening, onCheckpoint);
