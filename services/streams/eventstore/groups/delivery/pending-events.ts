import type { Pending } from '../progress.js';

/**
 * An event that was delivered and is not recorded as done, or that waits for a delivery and is not read ahead: it is
 * retried, replayed, or was pending when the group was opened.
 */
export type PendingEvent = {
  readonly at: bigint;
  /** The bucket in which `Pinned` puts it. */
  readonly bucket: number;
  readonly retries: number;
} & (
  | { readonly state: 'waiting' }
  | { readonly state: 'sent'; readonly consumer: number; readonly dueMs: number; readonly delivery: number }
  | { readonly state: 'parking'; readonly consumer: number | undefined }
  /** Done; the recording with this number, and every later one, includes that. */
  | { readonly state: 'done'; readonly consumer: number | undefined; readonly recording: number }
);

/** An event that a consumer has and has not answered. */
export type SentEvent = PendingEvent & { readonly state: 'sent' };

const consumerOf = (event: PendingEvent): number | undefined => ('consumer' in event ? event.consumer : undefined);

const byPlace = (a: Pending, b: Pending): number => (a.at < b.at ? -1 : 1);

/** The pending events of a group, by their positions: each until it is recorded as done. */
export class PendingEvents {
  readonly #events = new Map<bigint, PendingEvent>();
  /** Positions of waiting events, in the order in which they are tried. */
  readonly #waiting = new Set<bigint>();

  get size(): number {
    return this.#events.size;
  }

  get waitingCount(): number {
    return this.#waiting.size;
  }

  at(place: bigint): PendingEvent | undefined {
    return this.#events.get(place);
  }

  /** The event, when the consumer has it and has not answered. */
  sentTo(consumer: number, place: bigint): SentEvent | undefined {
    const event = this.#events.get(place);
    return event?.state === 'sent' && event.consumer === consumer ? event : undefined;
  }

  sent(): readonly SentEvent[] {
    return [...this.#events.values()].filter((event) => event.state === 'sent');
  }

  *waiting(): Generator<PendingEvent> {
    for (const place of this.#waiting) {
      const event = this.#events.get(place);
      if (event) yield event;
    }
  }

  wait({ at, bucket, retries }: Pick<PendingEvent, 'at' | 'bucket' | 'retries'>): void {
    this.#events.set(at, { at, bucket, retries, state: 'waiting' });
    this.#waiting.add(at);
  }

  send(
    { at, bucket, retries }: Pick<PendingEvent, 'at' | 'bucket' | 'retries'>,
    sent: Pick<SentEvent, 'consumer' | 'dueMs' | 'delivery'>,
  ): void {
    this.#waiting.delete(at);
    this.#events.set(at, { at, bucket, retries, state: 'sent', ...sent });
  }

  park(event: PendingEvent): void {
    const { at, bucket, retries } = event;
    this.#waiting.delete(at);
    this.#events.set(at, { at, bucket, retries, state: 'parking', consumer: consumerOf(event) });
  }

  finish(event: PendingEvent, recording: number): void {
    const { at, bucket, retries } = event;
    this.#waiting.delete(at);
    this.#events.set(at, { at, bucket, retries, state: 'done', consumer: consumerOf(event), recording });
  }

  /** Removes events that are done and recorded; returns the consumer of each of them that had one. */
  forget(recording: number): readonly number[] {
    const freed: number[] = [];
    for (const event of [...this.#events.values()]) {
      if (event.state !== 'done' || event.recording > recording) continue;
      this.#events.delete(event.at);
      if (event.consumer !== undefined) freed.push(event.consumer);
    }
    return freed;
  }

  /** The events that are not done, in the order of their positions. */
  undone(): readonly Pending[] {
    const undone = [...this.#events.values()].filter(({ state }) => state !== 'done');
    return undone.map(({ at, retries }) => ({ at, retries })).sort(byPlace);
  }
}
