/** A schedule of the model: its expression, and its ticks, computed without the code under test. */
export type ModelSchedule = {
  readonly text: string;
  /** The first tick after an instant; `anchorMs` is the activation. All in milliseconds since 1970. */
  readonly next: (afterMs: number, anchorMs: number) => number;
};

export const MINUTE = 60_000;
export const DAY = 24 * 60 * MINUTE;

/** The first instant after `afterMs` at this time of a day for which `isOn` holds. */
const onDays = (afterMs: number, ofDayMs: (dayMs: number) => number, isOn: (day: Date) => boolean): number => {
  for (let dayMs = Math.floor(afterMs / DAY) * DAY - DAY; ; dayMs += DAY) {
    const atMs = dayMs + ofDayMs(dayMs);
    if (atMs > afterMs && isOn(new Date(dayMs))) return atMs;
  }
};

/** Midnight in UTC of the last Sunday of a month, which counts from 0. */
const lastSunday = (year: number, month: number): number => {
  const last = new Date(Date.UTC(year, month + 1, 0));
  return last.getTime() - last.getUTCDay() * DAY;
};

/** Hours that Berlin is ahead of UTC on the morning of a day: directive 2000/84/EC. */
const berlinHours = (dayMs: number): number => {
  const year = new Date(dayMs).getUTCFullYear();
  return dayMs >= lastSunday(year, 2) && dayMs < lastSunday(year, 9) ? 2 : 1;
};

/** The time of a day, in milliseconds since its midnight. */
const timeOf = (hour: number, minute: number): number => (hour * 60 + minute) * MINUTE;

// The schedules that follow have their times in UTC, those of `berlin` in Europe/Berlin. A weekday counts from 0, which
// is Sunday; a date counts from 1.
export const hourly = (minute: number): ModelSchedule => ({
  text: `${minute} * * * *`,
  next: (afterMs) => Math.floor((afterMs - minute * MINUTE) / (60 * MINUTE) + 1) * 60 * MINUTE + minute * MINUTE,
});
export const daily = (hour: number, minute: number): ModelSchedule => ({
  text: `${minute} ${hour} * * *`,
  next: (afterMs) =>
    onDays(
      afterMs,
      () => timeOf(hour, minute),
      () => true,
    ),
});
export const weekly = (weekday: number, hour: number): ModelSchedule => ({
  text: `0 ${hour} * * ${weekday}`,
  next: (afterMs) =>
    onDays(
      afterMs,
      () => timeOf(hour, 0),
      (day) => day.getUTCDay() === weekday,
    ),
});
export const monthly = (date: number, hour: number): ModelSchedule => ({
  text: `0 ${hour} ${date} * *`,
  next: (afterMs) =>
    onDays(
      afterMs,
      () => timeOf(hour, 0),
      (day) => day.getUTCDate() === date,
    ),
});
export const leapDay = (hour: number): ModelSchedule => ({
  text: `0 ${hour} 29 2 *`,
  next: (afterMs) =>
    onDays(
      afterMs,
      () => timeOf(hour, 0),
      (day) => day.getUTCMonth() === 1 && day.getUTCDate() === 29,
    ),
});
/** @param hour from 4 on, where clocks do not change. */
export const berlin = (hour: number, minute: number): ModelSchedule => ({
  text: `CRON_TZ=Europe/Berlin ${minute} ${hour} * * *`,
  next: (afterMs) =>
    onDays(
      afterMs,
      (dayMs) => timeOf(hour - berlinHours(dayMs), minute),
      () => true,
    ),
});
export const every = (minutes: number): ModelSchedule => ({
  text: `@every ${minutes}m`,
  next: (afterMs, anchorMs) =>
    anchorMs + (Math.floor((afterMs - anchorMs) / (minutes * MINUTE)) + 1) * minutes * MINUTE,
});

export type Policy = {
  readonly catchUp: { readonly policy: 'all' | 'last' | 'none'; readonly max: number; readonly maxAgeMs: number };
  readonly overlap: 'allow' | 'skip' | 'queue';
  /** Minutes that each execution of the plan takes. */
  readonly takes: number;
};

type Segment = {
  readonly version: string;
  readonly schedule: ModelSchedule;
  readonly fromMs: number;
  untilMs: number;
  isDeactivated: boolean;
};
type Tick = { readonly atMs: number; readonly version: string };

/** Ticks that are decided later than this count as missed: the catch-up policy says which of them are launched. */
const LATE_MS = MINUTE;

/** Ticks of a plan that can wait for the end of the execution before them. */
const MAX_WAITING = 1_000;

/** The end of an execution: in the middle of a minute, `takes` minutes after the minute in which it starts. */
export const endOf = (startMs: number, { takes }: Policy): number =>
  Math.floor(startMs / MINUTE) * MINUTE + takes * MINUTE + MINUTE / 2;

/** The expected outcomes of the ticks of one plan, from its story and from what killed processes have left. */
export const planModel = (policy: Policy) => {
  const segments: Segment[] = [];
  const archived: { fromMs: number; untilMs: number }[] = [];
  const open: Tick[] = [];
  /** Ticks that a killed process had launched and not recorded, with the time of the kill. */
  const launchedMs = new Map<Tick, number>();
  /** The outcome of each tick, under `TIME VERSION` with the time in milliseconds. */
  const outcomes = new Map<string, string>();
  let decidedMs = 0;
  let busyUntilMs = 0;

  const active = (): Segment | undefined => segments.find(({ untilMs }) => untilMs === Infinity);
  const isArchived = (): boolean => archived.some(({ untilMs }) => untilMs === Infinity);
  const setOutcome = ({ atMs, version }: Tick, outcome: string): void =>
    void outcomes.set(`${atMs} ${version}`, outcome);

  /** The reason why a late tick is not launched any more; `undefined` when it still may be. */
  const reasonToDrop = ({ atMs }: Tick, nowMs: number): string | undefined => {
    if (nowMs - atMs <= LATE_MS) return undefined;
    if (!active()) return 'deactivated';
    return isArchived() ? 'archived' : undefined;
  };

  /** The outcome of an open tick; `undefined` while it waits. */
  const outcomeNow = (tick: Tick, nowMs: number): string | undefined => {
    const reason = launchedMs.has(tick) ? undefined : reasonToDrop(tick, nowMs);
    if (reason !== undefined) return reason;
    if (policy.overlap === 'allow' || busyUntilMs <= nowMs) return 'fired';
    return policy.overlap === 'skip' ? 'overlap' : undefined;
  };

  /** Ends the open ticks that have an outcome, in order: those that fire are launched. */
  const launch = (nowMs: number, isStopped: (tick: Tick) => boolean = () => false): void => {
    for (const tick of open.filter((each) => !isStopped(each))) {
      const outcome = outcomeNow(tick, nowMs);
      if (outcome === undefined) continue;
      open.splice(open.indexOf(tick), 1);
      setOutcome(tick, outcome);
      if (outcome === 'fired') busyUntilMs = endOf(launchedMs.get(tick) ?? nowMs, policy);
    }
  };

  const isArchivedAt = (atMs: number): boolean =>
    archived.some(({ fromMs, untilMs }) => atMs > fromMs && atMs <= untilMs);

  /**
   * The reason to skip a tick that is due; `undefined` when it is launched, or is late and the catch-up policy still
   * has to choose.
   */
  const barred = ({ atMs }: Tick, segment: Segment, nowMs: number): string | undefined => {
    if (isArchivedAt(atMs)) return 'archived';
    if (nowMs - atMs <= LATE_MS) return undefined;
    if (segment.isDeactivated) return 'deactivated';
    if (nowMs - atMs > policy.catchUp.maxAgeMs) return 'too-old';
    return policy.catchUp.policy === 'none' ? 'missed' : undefined;
  };

  /** The ticks that are due and not yet decided, each with the segment of the activation that it belongs to. */
  const dueUntil = (nowMs: number): { tick: Tick; segment: Segment }[] =>
    segments.flatMap((segment) => {
      const { schedule, fromMs, untilMs, version } = segment;
      const due = [];
      for (let atMs = schedule.next(Math.max(fromMs, decidedMs), fromMs); atMs <= Math.min(untilMs, nowMs);) {
        due.push({ tick: { atMs, version }, segment });
        atMs = schedule.next(atMs, fromMs);
      }
      return due;
    });

  /** Decides on the ticks that are due. */
  const decideUntil = (nowMs: number): void => {
    const due = dueUntil(nowMs);
    decidedMs = Math.max(decidedMs, due.at(-1)?.tick.atMs ?? 0);
    const missed: Tick[] = [];
    const launched: Tick[] = [];
    for (const { tick, segment } of due) {
      const reason = barred(tick, segment, nowMs);
      if (reason !== undefined) setOutcome(tick, reason);
      else if (nowMs - tick.atMs > LATE_MS) missed.push(tick);
      else launched.push(tick);
    }
    const { policy: which, max } = policy.catchUp;
    launched.unshift(...missed.splice(-(which === 'last' ? 1 : max)));
    for (const tick of missed) setOutcome(tick, 'missed');
    for (const tick of launched.splice(Math.max(0, MAX_WAITING - open.length))) setOutcome(tick, 'queue-full');
    open.push(...launched);
    open.sort((a, b) => a.atMs - b.atMs);
  };

  return {
    outcomes,
    open,
    activate: (version: string, schedule: ModelSchedule, atMs: number): void => {
      const before = active();
      if (before) before.untilMs = atMs;
      segments.push({ version, schedule, fromMs: atMs, untilMs: Infinity, isDeactivated: false });
    },
    deactivate: (atMs: number): void => {
      const before = active();
      if (before) Object.assign(before, { untilMs: atMs, isDeactivated: true });
    },
    archive: (atMs: number): void => void archived.push({ fromMs: atMs, untilMs: Infinity }),
    restore: (atMs: number): void => {
      for (const span of archived) span.untilMs = Math.min(span.untilMs, atMs);
    },
    /** The next instant at which a tick is due, or at which an execution ends that an open tick waits for. */
    nextMs: (afterMs: number): number => {
      const segment = active();
      const tickMs = segment ? segment.schedule.next(Math.max(afterMs, segment.fromMs), segment.fromMs) : Infinity;
      return open.length > 0 && busyUntilMs > afterMs ? Math.min(tickMs, busyUntilMs) : tickMs;
    },
    /** A process decides on the ticks of the plan that are due, and launches the open ones that can be. */
    decideAndLaunch: (nowMs: number): void => {
      decideUntil(nowMs);
      launch(nowMs);
    },
    /**
     * A process launches the open ticks for which the execution before them has ended, and ends those that are not to
     * be launched. It decides on no others.
     */
    launch,
    /**
     * The process was killed at `nowMs`, while it worked on its plans. The last tick that it had decided was due at
     * `untilMs`; it had launched the ticks of `isLaunched`, and not recorded the outcomes of `isOpen`.
     */
    killed: (
      nowMs: number,
      found: { untilMs: number; isOpen: (tick: Tick) => boolean; isLaunched: (tick: Tick) => boolean },
    ): void => {
      if (found.untilMs > decidedMs) decideUntil(nowMs);
      launch(nowMs, found.isOpen);
      for (const tick of open) if (found.isLaunched(tick) && !launchedMs.has(tick)) launchedMs.set(tick, nowMs);
    },
  };
};

export type PlanModel = ReturnType<typeof planModel>;
