import { timestampMs } from '@bufbuild/protobuf/wkt';

import { decodeEvent } from '../kernel/decode-event.js';
import type { RecordedEvent } from '../kernel/event.js';
import { SCHEDULE_CATEGORY, scheduleCodec } from '../schedule/events.js';

/** Requests that hold ticks of a schedule back. */
export type ScheduleHolds = {
  readonly isPaused: boolean;
  /** The ticks that are to be skipped, ascending, in milliseconds since 1970; those of the past are among them. */
  readonly skips: readonly number[];
};

/** The types of events that holds are folded from. */
export const HOLD_TYPES = ['SchedulePaused', 'ScheduleResumed', 'ScheduleTickSkipRequested'];

export const NO_HOLDS: ScheduleHolds = { isPaused: false, skips: [] };

/**
 * Maximum number of skips that are kept for a schedule, the latest: as many ticks may wait to be skipped at a time, and
 * these are later than those of the past.
 */
const MAX_SKIPS = 1_000;

const after = (event: RecordedEvent, { isPaused, skips }: ScheduleHolds): ScheduleHolds => {
  const { type, data } = decodeEvent(scheduleCodec, event);
  if (type !== 'ScheduleTickSkipRequested') return { isPaused: type === 'SchedulePaused', skips };
  const skip = data.at ? timestampMs(data.at) : 0;
  return { isPaused, skips: [...skips, skip].sort((a, b) => a - b).slice(-MAX_SKIPS) };
};

/** Pauses and skips of each schedule, by its stream, folded from its events. */
export type HoldsFold = {
  readonly holds: ReadonlyMap<string, ScheduleHolds>;
  readonly category: string;
  readonly fold: (event: RecordedEvent) => void;
};

/** Makes the fold; it is empty until events are folded. */
export const scheduleHolds = (): HoldsFold => {
  const holds = new Map<string, ScheduleHolds>();
  return {
    holds,
    category: SCHEDULE_CATEGORY,
    fold: (event) => {
      holds.set(event.stream, after(event, holds.get(event.stream) ?? NO_HOLDS));
    },
  };
};
