import type { RecordedEvent } from '../../../kernel/event.js';
import { MAX_TIMER_MS } from '../../../kernel/ports/timers.js';
import type { ConfiguredGroup } from './configuration.js';
import { ConsumerGroup } from './delivery/consumer-group.js';
import type { Consumer } from './delivery/consumer-pool.js';
import type { GroupCounts, Parking, Refusal } from './delivery/delivery.js';
import { GroupFailure } from './group-failure.js';
import { checkpointStreamOf, parkedStreamOf } from './group-name.js';
import {
  type GroupServices,
  hideLinksBefore,
  linkTo,
  progressEvent,
  readLinks,
  type readProgress,
} from './group-records.js';
import { eventToDeliver, groupSource, type GroupSource } from './group-source.js';
import { type ConsumerConnection, deliveryQueue, type DeliveryQueue } from './delivery/delivery-queue.js';
import { aborted } from '../shutdown.js';
import { checkpointOf, type GroupProgress } from './progress.js';
import { type SentIds, sentIds } from './delivery/sent-ids.js';
import { rulesOf } from './settings.js';
import { untilReached, type Worker, worker } from './worker.js';

/** A connected consumer. Ids of events are the 16 bytes of their UUIDs in hexadecimal. */
export interface ConnectedConsumer {
  acknowledge(ids: readonly string[]): void;
  refuse(ids: readonly string[], refusal: Refusal, reason: string): void;
  disconnect(): void;
}

/** A consumer as descriptions of its group show it. */
type ShownConsumer = Consumer & Pick<ConsumerConnection, 'from' | 'connectionName'>;

type Connected = { readonly connection: ConsumerConnection; readonly queue: DeliveryQueue };

/** An open group: reads its source, sends to its consumers, and appends its progress and links to parked events. */
export class RunningGroup {
  readonly group: ConfiguredGroup;
  readonly #services: GroupServices;
  readonly #onFailure: (error: unknown) => void;
  readonly #source: GroupSource;
  readonly #bucket: number;
  readonly #state: ConsumerGroup<RecordedEvent>;
  readonly #workers: Readonly<Record<'reader' | 'parker' | 'recorder' | 'replayer', Worker>>;
  readonly #connections = new Map<number, Connected>();
  readonly #closing = new AbortController();
  #recorded: GroupProgress | undefined;
  #readUpTo: bigint;
  /** False when the source may have events after those that were read. */
  #isAtEnd = false;
  #isReading = false;
  #lastId = 0;
  #timer: NodeJS.Timeout | undefined;

  /**
   * Opens a group from its recorded progress.
   *
   * @param onFailure is called when a read or an append fails, except by an outage of the log, which is waited for; the
   * consumers are then ended.
   */
  constructor(
    services: GroupServices,
    group: ConfiguredGroup,
    { progress, isRecorded }: Awaited<ReturnType<typeof readProgress>>,
    onFailure: (error: unknown) => void,
  ) {
    this.group = group;
    this.#services = services;
    this.#onFailure = onFailure;
    this.#source = groupSource(services, group);
    this.#bucket = this.#source.bucketOf({ stream: group.source as RecordedEvent['stream'] });
    this.#state = new ConsumerGroup(rulesOf(group.settings), progress, this.#bucket);
    this.#recorded = isRecorded ? progress : undefined;
    this.#readUpTo = progress.upTo;
    const failed = (error: unknown): void => this.#fail(error);
    this.#workers = {
      reader: worker(() => this.#read(), failed),
      parker: worker(() => this.#park(), failed),
      recorder: worker(() => this.#record(), failed),
      replayer: worker(() => this.#replay(), failed),
    };
    this.#proceed();
  }

  /** @throws {GroupFailure} when the group has its maximum of consumers. */
  connect(connection: ConsumerConnection, bufferSize: number): ConnectedConsumer {
    this.#lastId += 1;
    const id = this.#lastId;
    if (!this.#state.connect(id, bufferSize)) throw new GroupFailure('maximum-subscribers-reached', this.group);
    const sent = sentIds((at) => this.#state.has(id, at));
    this.#connections.set(id, { connection, queue: this.#queueOf(id, connection, sent) });
    this.#proceed();
    const answer = (ids: readonly string[], apply: (at: bigint) => void): void => {
      for (const each of ids) {
        const at = sent.take(each);
        if (at !== undefined) apply(at);
      }
      this.#proceed();
    };
    return {
      acknowledge: (ids) => answer(ids, (at) => this.#state.acknowledge(id, at)),
      refuse: (ids, refusal, reason) => answer(ids, (at) => this.#state.refuse(id, at, refusal, reason)),
      disconnect: () => this.#disconnect(id),
    };
  }

  /** Tries parked events again, the oldest first. */
  replay(count: number): void {
    this.#state.replay(count);
    this.#proceed();
  }

  /** Reads on if one of the events is in the source of the group. */
  notice(events: readonly RecordedEvent[]): void {
    if (events.some((event) => this.#source.has(event))) this.readOn();
  }

  /** Reads on, because there are new events, or there may be. */
  readOn(): void {
    this.#isAtEnd = false;
    this.#workers.reader.wake();
  }

  counts(): GroupCounts {
    return this.#state.counts();
  }

  consumers(): readonly ShownConsumer[] {
    return this.#state.consumers().map((consumer) => {
      const { from = '', connectionName = '' } = this.#connections.get(consumer.id)?.connection ?? {};
      return { ...consumer, from, connectionName };
    });
  }

  /** The recorded checkpoint; `undefined` when no progress is recorded. */
  checkpoint(): bigint | undefined {
    return this.#recorded && checkpointOf(this.#recorded);
  }

  /** The position of the last event of the source; `undefined` when there is none. */
  lastKnown(): Promise<bigint | undefined> {
    return this.#source.last();
  }

  /** Revisions of the source, or positions for `$all`, after the checkpoint; 0 when the group has caught up. */
  async lag(): Promise<bigint> {
    const { inFlight, waitingForRetry, readAhead } = this.counts();
    if (this.#isAtEnd && !this.#isReading && inFlight + waitingForRetry + readAhead === 0) return 0n;
    const done = this.checkpoint() ?? this.group.start.after;
    const last = (await this.lastKnown()) ?? done;
    return last > done ? last - done : 0n;
  }

  /**
   * Ends all consumers with the error, and records their answers. Answers that cannot be recorded before `overdue` is
   * aborted are dropped: their events come again.
   */
  async close(error: unknown, overdue?: AbortSignal): Promise<void> {
    if (overdue) void aborted(overdue).then(() => this.#closing.abort());
    this.#endAll(error);
    this.#proceed();
    const { reader, parker, recorder, replayer } = this.#workers;
    await parker.idle();
    await recorder.idle();
    this.#closing.abort();
    clearTimeout(this.#timer);
    await Promise.all([reader, parker, recorder, replayer].map((each) => each.idle()));
  }

  /** Starts all work that the state of the group needs now: reads, deliveries, parking and recording. */
  #proceed(): void {
    for (;;) {
      const delivery = this.#state.nextDelivery(this.#services.now());
      if (delivery === undefined) break;
      this.#connections.get(delivery.consumer)?.queue.put(delivery);
    }
    this.#keepTime();
    for (const each of Object.values(this.#workers)) each.wake();
  }

  #keepTime(): void {
    if (this.#timer !== undefined || this.#closing.signal.aborted) return;
    const due = this.#state.nextDueMs();
    if (due === undefined) return;
    const expire = (): void => {
      this.#timer = undefined;
      this.#state.expire(this.#services.now());
      this.#proceed();
    };
    this.#timer = setTimeout(expire, Math.min(Math.max(1, due - this.#services.now()), MAX_TIMER_MS));
  }

  #reached<Result>(work: () => Promise<Result>): Promise<Result> {
    return untilReached(this.#closing.signal, work);
  }

  async #read(): Promise<boolean> {
    const count = this.#state.wanted();
    if (this.#isAtEnd || count === 0 || this.#closing.signal.aborted) return false;
    this.#isAtEnd = true; // unless events are noticed during the read
    this.#isReading = true;
    const page = await this.#reached(() => this.#source.read(this.#readUpTo, count)).finally(() => {
      this.#isReading = false;
    });
    if (!page.isAtEnd) this.#isAtEnd = false;
    this.#readUpTo = page.upTo;
    const fresh = page.events.map((event) => eventToDeliver(this.#source, event));
    this.#state.offer(fresh, page.upTo);
    this.#proceed();
    return true;
  }

  async #park(): Promise<boolean> {
    const parking = this.#state.nextParking();
    if (parking === undefined) return false;
    await this.#link(parking).catch((error: unknown) => {
      this.#state.notParked(parking);
      throw error;
    });
    this.#proceed();
    return true;
  }

  async #link(parking: Parking): Promise<void> {
    const event = await this.#reached(() => this.#source.at(parking.at));
    if (event === undefined) this.#state.abandoned(parking.at);
    else {
      const link = linkTo(this.#services, this.group, event, parking);
      await this.#reached(() => this.#services.append(parkedStreamOf(this.group), 'any', [link]));
      this.#state.parked(parking.at);
    }
  }

  async #record(): Promise<boolean> {
    const recording = this.#state.nextRecording();
    if (recording === undefined) return false;
    const { number, progress } = recording;
    const event = progressEvent(this.#services, this.group, progress);
    await this.#reached(() => this.#services.append(checkpointStreamOf(this.group), 'any', [event]));
    this.#recorded = progress;
    this.#state.recorded(number);
    const { replayedUpTo, replayUntil } = progress;
    if (replayedUpTo === replayUntil)
      await this.#reached(() => hideLinksBefore(this.#services, this.group, replayedUpTo));
    this.#proceed();
    return true;
  }

  async #replay(): Promise<boolean> {
    const range = this.#state.replayRange();
    if (range === undefined || this.#closing.signal.aborted) return false;
    const links = await this.#reached(() => readLinks(this.#services, this.group, range.from, range.count));
    const events = links.map(({ at }) => ({ at, bucket: this.#bucket }));
    this.#state.replayed(events, range.from + BigInt(links.length));
    this.#proceed();
    return links.length > 0;
  }

  #queueOf(id: number, connection: ConsumerConnection, sent: SentIds): DeliveryQueue {
    return deliveryQueue(connection, {
      load: (at) => this.#reached(() => this.#source.at(at)),
      isAwaited: (delivery) => this.#state.isAwaited(delivery),
      sending: (event, at) => sent.add(event, at),
      vanished: (at) => this.#state.abandoned(at),
      stall: (isStalled) => {
        this.#state.stall(id, isStalled);
        if (!isStalled) this.#proceed();
      },
      failed: (error) => {
        connection.fail(error);
        this.#disconnect(id);
      },
    });
  }

  #disconnect(id: number): void {
    if (!this.#connections.delete(id)) return;
    this.#state.disconnect(id);
    this.#proceed();
  }

  #endAll(error: unknown): void {
    for (const [id, { connection }] of [...this.#connections]) {
      this.#connections.delete(id);
      this.#state.disconnect(id);
      connection.fail(error);
    }
  }

  #fail(error: unknown): void {
    if (this.#closing.signal.aborted) return;
    // The next consumer makes the group read again, and record its progress if that is what has failed.
    this.#isAtEnd = false;
    this.#state.notRecorded();
    this.#onFailure(error);
    this.#endAll(error);
  }
}
