import { Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { type Position, StreamNotFoundError } from '@eventstore/db-client';
import { callError, type ReadCall } from './calls.js';
import type { Mark, ReadAnswer } from './read-answer.js';

/** The number of buffered events at which the call is paused. */
const HIGH_WATER_MARK = 256;

/**
 * The events of a read or subscription in the form of the library: a stream of `{ event }` that also emits `caughtUp`.
 * Errors are converted to those of the library; an iteration gets the events received before an error first.
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

  /** Ends the read early. */
  async cancel(): Promise<void> {
    this.#isLeft = true;
    const call = await this.#opening;
    await turn(); // cancelling a call in the turn in which it was opened has no effect
    call.resume();
    call.cancel();
  }

  /** Ends a subscription, as {@link cancel} does. */
  unsubscribe(): Promise<void> {
    return this.cancel();
  }
}

/** Makes a stream of the library's type from a call; callers cast it to the type of the read that they opened. */
export const eventRead = (opening: Promise<ReadCall>, onCheckpoint?: (position: Position) => unknown): unknown =>
  new EventRead(opening, onCheckpoint);
