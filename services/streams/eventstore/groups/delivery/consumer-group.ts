import { type Consumer, consumerPool, type ConsumerPool } from './consumer-pool.js';
import type { Delivery, ReadEvent, GroupCounts, GroupRules, Parking, ProgressRecording, Refusal } from './delivery.js';
import { type PendingEvent, PendingEvents } from './pending-events.js';
import type { GroupProgress } from '../progress.js';

/** Maximum number of unfinished events of a group; each recorded progress lists them. */
const MAX_PENDING = 5_000;
/** Nothing more is read while the events that were read ahead have so many bytes. */
const MAX_AHEAD_BYTES = 4 * 1024 * 1024;
/** The maximum of replayed events that wait for a consumer. */
const MAX_REPLAYED = 500;
/** Progress over events that the filter does not match is recorded after so many positions. */
const UNMATCHED_PER_RECORDING = 10_000n;

/**
 * The pure state of one group: its events and consumers. It decides which consumer gets which event, and which events
 * are retried, parked or done. It has no clock and does no I/O: its owner reports what happened, and then takes the
 * events to send, to park and to record.
 *
 * An event that is done, skipped or to be parked occupies its consumer's buffer until that is recorded.
 */
export class ConsumerGroup<Content> {
  readonly #rules: GroupRules;
  readonly #pool: ConsumerPool;
  readonly #pending = new PendingEvents();
  readonly #parkings: Parking[] = [];
  #ahead: ReadEvent<Content>[] = [];
  #aheadBytes = 0;
  /** The highest position of an event that was delivered; at the beginning, the position of the progress. */
  #deliveredUpTo: bigint;
  #readUpTo: bigint;
  #recordedUpTo: bigint;
  #parked: Pick<GroupProgress, 'parkedUpTo' | 'replayedUpTo' | 'replayUntil'>;
  #recording = 1;
  #isChanged = false;
  #delivered = 0;

  /** @param bucket the bucket of events that were pending when the progress was recorded. */
  constructor(rules: GroupRules, { upTo, pending, ...parked }: GroupProgress, bucket = 0) {
    this.#rules = rules;
    this.#pool = consumerPool(rules.strategy);
    this.#deliveredUpTo = this.#readUpTo = this.#recordedUpTo = upTo;
    this.#parked = parked;
    for (const { at, retries } of pending) this.#pending.wait({ at, retries, bucket });
  }

  /** @returns false when the group has its maximum of consumers. */
  connect(id: number, bufferSize: number): boolean {
    const { maxConsumers } = this.#rules;
    if (maxConsumers > 0 && this.#pool.size >= maxConsumers) return false;
    this.#pool.add({ id, bufferSize });
    return true;
  }

  /** Removes a consumer, and retries or parks the events that it has not answered. */
  disconnect(id: number): void {
    this.#pool.remove(id);
    for (const event of this.#pending.sent()) if (event.consumer === id) this.#retry(event, true);
  }

  /** Stops and resumes deliveries to a consumer that does not read. */
  stall(id: number, isStalled: boolean): void {
    const consumer = this.#pool.of(id);
    if (consumer) consumer.isStalled = isStalled;
  }

  /** The number of events that may be offered now. */
  wanted(): number {
    const { readAhead } = this.#rules;
    const isFull = this.#ahead.length > readAhead / 2 || this.#aheadBytes >= MAX_AHEAD_BYTES;
    const canRead = !isFull && this.#pending.size < MAX_PENDING && this.#pool.size > 0;
    return canRead ? readAhead - this.#ahead.length : 0;
  }

  /** Adds the next events of the source, and the position up to which it was read. */
  offer(events: readonly ReadEvent<Content>[], readUpTo: bigint): void {
    this.#ahead = [...this.#ahead, ...events];
    for (const { bytes } of events) this.#aheadBytes += bytes;
    this.#readUpTo = readUpTo;
  }

  /** True when the consumer has the event and has not answered. */
  has(id: number, at: bigint): boolean {
    return this.#pending.sentTo(id, at) !== undefined;
  }

  /** False when the event of a delivery was answered, has timed out or was delivered again. */
  isAwaited({ number, consumer, at }: Delivery<unknown>): boolean {
    return this.#pending.sentTo(consumer, at)?.delivery === number;
  }

  /** Marks an event as done. Ignores an answer to an event that this consumer does not have in flight. */
  acknowledge(id: number, at: bigint): void {
    const event = this.#pending.sentTo(id, at);
    if (event) this.#finish(event);
  }

  /** Skips, retries or parks an event. Ignores an answer to an event that this consumer does not have in flight. */
  refuse(id: number, at: bigint, refusal: Refusal, reason: string): void {
    const event = this.#pending.sentTo(id, at);
    if (!event) return;
    if (refusal === 'skip') this.#finish(event);
    else if (refusal === 'retry') this.#retry(event, true);
    else this.#park(event, `Client explicitly NAK'ed message.\n${reason}`, true);
  }

  /** Drops an event that the source no longer shows: it is neither delivered again nor parked. */
  abandoned(at: bigint): void {
    const event = this.#pending.at(at);
    if (event && event.state !== 'done') this.#finish(event);
  }

  /** Retries or parks events whose timeout has passed. */
  expire(nowMs: number): void {
    for (const event of this.#pending.sent()) if (event.dueMs <= nowMs) this.#retry(event, false);
  }

  /** The time at which {@link expire} is needed next; `undefined` when no event can be late. */
  nextDueMs(): number | undefined {
    if (this.#rules.messageTimeoutMs <= 0) return undefined;
    const dueTimes = this.#pending.sent().map(({ dueMs }) => dueMs);
    return dueTimes.length === 0 ? undefined : Math.min(...dueTimes);
  }

  /** Takes the next event to be sent; `undefined` when nothing can be sent. */
  nextDelivery(nowMs: number): Delivery<Content> | undefined {
    if (!this.#pool.hasCapacity()) return undefined;
    return this.#nextRetry(nowMs) ?? this.#nextFresh(nowMs);
  }

  /** Takes the next event to be parked. */
  nextParking(): Parking | undefined {
    return this.#parkings.shift();
  }

  /** Puts back an event whose link could not be appended: it is the next to be parked. */
  notParked(parking: Parking): void {
    this.#parkings.unshift(parking);
  }

  /**
   * Marks an event as parked, after its link was appended. Links are appended in the order in which they were taken.
   */
  parked(at: bigint): void {
    const event = this.#pending.at(at);
    this.#parked = { ...this.#parked, parkedUpTo: this.#parked.parkedUpTo + 1n };
    if (event) this.#finish(event);
  }

  /** Replays the oldest parked events, at most `count`. */
  replay(count: number): void {
    const { parkedUpTo, replayedUpTo, replayUntil } = this.#parked;
    const wanted = replayedUpTo + BigInt(count);
    const until = wanted < parkedUpTo ? wanted : parkedUpTo;
    this.#parked = { ...this.#parked, replayUntil: until > replayUntil ? until : replayUntil };
    this.#isChanged = true;
  }

  /** The parked links to be read now; `undefined` when there are none, or no capacity for them. */
  replayRange(): { readonly from: bigint; readonly count: number } | undefined {
    const { replayedUpTo: from, replayUntil } = this.#parked;
    const free = Math.min(MAX_REPLAYED - this.#pending.waitingCount, MAX_PENDING - this.#pending.size);
    const count = Math.min(Number(replayUntil - from), free);
    return count > 0 ? { from, count } : undefined;
  }

  /** Adds replayed events; `upTo` is the revision after the last link. */
  replayed(events: readonly Pick<ReadEvent<Content>, 'at' | 'bucket'>[], upTo: bigint): void {
    for (const { at, bucket } of events) {
      const known = this.#pending.at(at);
      if (known && known.state !== 'done') continue;
      if (known) this.#release(known);
      this.#pending.wait({ at, bucket, retries: 0 });
    }
    this.#parked = { ...this.#parked, replayedUpTo: upTo };
    this.#isChanged = true;
  }

  /**
   * Takes what is to be recorded; `undefined` when no event was finished, retried or replayed since the last call, and
   * little was read.
   */
  nextRecording(): ProgressRecording | undefined {
    const isFar = this.#ahead.length === 0 && this.#readUpTo - this.#recordedUpTo >= UNMATCHED_PER_RECORDING;
    if (!this.#isChanged && !isFar) return undefined;
    this.#isChanged = false;
    const progress = this.progress();
    this.#recordedUpTo = progress.upTo;
    this.#recording += 1;
    return { number: this.#recording - 1, progress };
  }

  /** Makes the next call of {@link nextRecording} return the progress in any case. */
  notRecorded(): void {
    this.#isChanged = true;
  }

  /** Marks a recording as durable, which frees the buffer slots of its done events. */
  recorded(number: number): void {
    for (const id of this.#pending.forget(number)) this.#free(id);
  }

  progress(): GroupProgress {
    const overtaken = this.#ahead.filter(({ at }) => at < this.#deliveredUpTo).map(({ at }) => ({ at, retries: 0 }));
    return {
      upTo: this.#ahead.length === 0 ? this.#readUpTo : this.#deliveredUpTo,
      pending: [...this.#pending.undone(), ...overtaken].sort((a, b) => (a.at < b.at ? -1 : 1)),
      ...this.#parked,
    };
  }

  consumers(): readonly Consumer[] {
    return this.#pool.all();
  }

  counts(): GroupCounts {
    const { parkedUpTo, replayedUpTo } = this.#parked;
    return {
      inFlight: this.#pending.size - this.#pending.waitingCount,
      waitingForRetry: this.#pending.waitingCount,
      readAhead: this.#ahead.length,
      parked: Number(parkedUpTo - replayedUpTo),
      delivered: this.#delivered,
    };
  }

  #nextRetry(nowMs: number): Delivery<Content> | undefined {
    for (const event of this.#pending.waiting()) {
      const consumer = this.#pool.pick(event.bucket);
      if (consumer) return this.#deliver(event, consumer, nowMs, undefined);
    }
    return undefined;
  }

  #nextFresh(nowMs: number): Delivery<Content> | undefined {
    if (this.#pending.size >= MAX_PENDING) return undefined;
    for (const [index, { at, bucket, bytes, content }] of this.#ahead.entries()) {
      const consumer = this.#pool.pick(bucket);
      if (!consumer) continue;
      this.#ahead.splice(index, 1);
      this.#aheadBytes -= bytes;
      if (at > this.#deliveredUpTo) this.#deliveredUpTo = at;
      return this.#deliver({ at, bucket, retries: 0 }, consumer, nowMs, content);
    }
    return undefined;
  }

  #deliver(
    event: Pick<PendingEvent, 'at' | 'bucket' | 'retries'>,
    consumer: Consumer,
    nowMs: number,
    content: Content | undefined,
  ): Delivery<Content> {
    const { messageTimeoutMs } = this.#rules;
    const dueMs = messageTimeoutMs > 0 ? nowMs + messageTimeoutMs : Infinity;
    this.#delivered += 1;
    this.#pending.send(event, { consumer: consumer.id, dueMs, delivery: this.#delivered });
    consumer.inFlight += 1;
    return { number: this.#delivered, consumer: consumer.id, at: event.at, retries: event.retries, content };
  }

  #finish(event: PendingEvent): void {
    this.#pending.finish(event, this.#recording);
    this.#isChanged = true;
  }

  /** Retries an event, or parks it when its retries are used up. */
  #retry(event: PendingEvent, isNumbered: boolean): void {
    const { maxRetryCount } = this.#rules;
    if (event.retries >= maxRetryCount) {
      this.#park(event, `Reached retry count of ${maxRetryCount}`, isNumbered);
      return;
    }
    this.#release(event);
    this.#pending.wait({ ...event, retries: event.retries + 1 });
    this.#isChanged = true;
  }

  #park(event: PendingEvent, reason: string, isNumbered: boolean): void {
    this.#pending.park(event);
    this.#parkings.push({ at: event.at, reason, isNumbered });
  }

  #release(event: PendingEvent): void {
    if ('consumer' in event && event.consumer !== undefined) this.#free(event.consumer);
  }

  #free(id: number): void {
    const consumer = this.#pool.of(id);
    if (consumer) consumer.inFlight -= 1;
  }
}
