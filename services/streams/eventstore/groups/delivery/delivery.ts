import type { Strategy } from './consumer-pool.js';
import type { GroupProgress } from '../progress.js';

/** The settings by which a group delivers its events. */
export type GroupRules = {
  readonly strategy: Strategy;
  /** An event that fails once more after this number of retries is parked. */
  readonly maxRetryCount: number;
  /** The time for an answer from the decision to deliver on, in milliseconds; 0 for no limit. */
  readonly messageTimeoutMs: number;
  /** 0 for any number. */
  readonly maxConsumers: number;
  /** The maximum of events that are read and wait for their first delivery. */
  readonly readAhead: number;
};

/** An event that was read for the group. */
export type ReadEvent<Content> = {
  /** Its revision in the stream, or its position in the log for a group on `$all`. */
  readonly at: bigint;
  /** The bucket in which `Pinned` puts it. */
  readonly bucket: number;
  /** The approximate size of its content, in bytes. */
  readonly bytes: number;
  readonly content: Content;
};

/** An event to be sent. Without content where it was not read for this delivery: the sender then reads it. */
export type Delivery<Content> = {
  /** The number of the delivery in its group: an event may be delivered again. */
  readonly number: number;
  readonly consumer: number;
  readonly at: bigint;
  readonly retries: number;
  readonly content: Content | undefined;
};

/** An event to be parked. */
export type Parking = {
  readonly at: bigint;
  readonly reason: string;
  /** True when the metadata of the link names the revision of the event. In EventStoreDB, only a timeout omits it. */
  readonly isNumbered: boolean;
};

/** The ways in which a consumer refuses an event. */
export type Refusal = 'park' | 'retry' | 'skip';

/** A progress to record, with the number by which the owner of the group confirms that it is durable. */
export type ProgressRecording = { readonly number: number; readonly progress: GroupProgress };

/** The present figures of a group. */
export type GroupCounts = {
  /** Delivered events that are not answered, or whose answers are not recorded. */
  readonly inFlight: number;
  readonly waitingForRetry: number;
  readonly readAhead: number;
  /** Parked events that were not replayed. */
  readonly parked: number;
  /** Deliveries since the group was opened. */
  readonly delivered: number;
};
