import { create } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ScheduleSchema } from '../../../proto/gen/platformidl/admin/schedule_pb.js';
import { withAnnotations } from '../../../services/schedule/calendar/annotations.js';
import {
  type CatchUp,
  type DueFacts,
  dueTicks,
  type SkippedTicks,
  overlapDecision,
} from '../../../services/schedule/calendar/due.js';
import { type Segment, type Span, withActivation } from '../../../services/schedule/calendar/segments.js';
import { segmentTicks } from '../../../services/schedule/calendar/ticks.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const START = Date.parse('2026-01-01T00:00:30Z');
const EXPRESSION = { case: 'cronSchedule', value: { schedule: '* * * * *' } } as const;
const minutely = create(ScheduleSchema, { ScheduleExpression: EXPRESSION });
const ALL: CatchUp = { policy: 'all', max: 1_000, maxAgeMs: 24 * HOUR };

/** The segment of a version that fires each minute and is still active. */
const active = (version = 'v1', fromMs = START): Segment => ({ version, fromMs, schedule: minutely, principal: 'ada' });
/** The present facts that ticks are decided on; without changes, of a plan with one active version. */
const facts = (nowMs: number, changes: Partial<DueFacts> = {}): DueFacts => ({
  nowMs,
  segments: [active()],
  ticksOf: (segment) => segmentTicks(segment, 'UTC'),
  catchUp: ALL,
  archived: [],
  ...changes,
});
/** A schedule of which no tick is decided, and none is skipped or open. */
const undecided = { untilMs: 0, paused: [], skips: [], open: 0 };
/** The time of a full minute, which has a tick: the first one is half a minute after the activation at `START`. */
const minute = (count: number): number => START + count * MINUTE - 30_000;

describe('the ticks that are due', () => {
  it('are none before the first tick of the schedule', () => {
    expect(dueTicks(facts(START + 29_000), undecided)).toBeUndefined();
  });

  it('are those after the activation, up to now, for the principal of the activation', () => {
    expect(dueTicks(facts(minute(1)), undecided)).toEqual({
      untilMs: minute(1),
      fire: [{ atMs: minute(1), version: 'v1', principal: 'ada', isMissed: false }],
      skipped: [],
    });
  });

  it('are not decided again, also when the clock was set back', () => {
    expect(dueTicks(facts(minute(1)), { ...undecided, untilMs: minute(1) })).toBeUndefined();
    expect(dueTicks(facts(minute(1) - HOUR), { ...undecided, untilMs: minute(1) })).toBeUndefined();
  });

  it('belong to the version that was active at their time', () => {
    const segments = withActivation([active()], {
      atMs: minute(2),
      version: 'v2',
      schedule: minutely,
      principal: 'bo',
    });
    const due = dueTicks(facts(minute(3), { segments }), { ...undecided, untilMs: minute(1) });
    expect(due?.fire.map(({ version, atMs }) => [version, atMs])).toEqual([
      ['v1', minute(2)],
      ['v2', minute(3)],
    ]);
  });

  it('need the segment of only the newest among successive versions without a schedule', () => {
    let segments: readonly Segment[] = [active()];
    for (const each of [2, 3, 4])
      segments = withActivation(segments, {
        atMs: minute(each),
        version: `v${each}`,
        schedule: undefined,
        principal: 'bo',
      });
    expect(segments.map(({ version, untilMs }) => [version, untilMs])).toEqual([
      ['v1', minute(2)],
      ['v4', undefined],
    ]);
    expect(withActivation(segments, { atMs: minute(5) }).at(-1)).toMatchObject({ version: 'v4', isDeactivated: true });
  });

  it('end with a deactivation, and those before it are skipped when it is too late for them', () => {
    const segments = withActivation([active()], { atMs: minute(3) });
    expect(dueTicks(facts(minute(3) + 1_000, { segments }), { ...undecided, untilMs: minute(2) })?.fire).toHaveLength(
      1,
    );
    expect(dueTicks(facts(minute(9), { segments }), { ...undecided, untilMs: minute(3) })).toBeUndefined();
    expect(dueTicks(facts(minute(9), { segments }), undecided)).toMatchObject({
      fire: [],
      skipped: [{ reason: 'deactivated', count: 3 }],
    });
  });

  it.each([
    ['archived', (span: Span) => dueTicks(facts(minute(5), { archived: [span] }), undecided)],
    ['paused', (span: Span) => dueTicks(facts(minute(5)), { ...undecided, paused: [span] })],
  ] as const)('are skipped while %s, and not made up for', (reason, decide) => {
    const due = decide({ fromMs: START, untilMs: minute(4) });
    expect(due?.skipped).toEqual([{ version: 'v1', reason, count: 4, firstMs: minute(1), lastMs: minute(4) }]);
    expect(due?.fire.map(({ atMs }) => atMs)).toEqual([minute(5)]);
  });

  it.each([
    [998, [1, 2], []],
    [999, [1], [2]],
    [1_000, [], [1, 2]],
  ])('are skipped beyond a thousand that wait: %i wait already', (open, fired, skipped) => {
    const due = dueTicks(facts(minute(2)), { ...undecided, open });
    expect(due?.fire.map(({ atMs }) => atMs)).toEqual(fired.map(minute));
    expect(due?.skipped.map(({ reason, lastMs }) => [reason, lastMs])).toEqual(
      skipped.slice(-1).map((at) => ['queue-full', minute(at)]),
    );
  });

  it('are skipped by request, whether they are on time or missed', () => {
    for (const now of [2, 30])
      expect(dueTicks(facts(minute(now)), { ...undecided, skips: [minute(2)] })?.skipped).toEqual([
        { version: 'v1', reason: 'by-hand', count: 1, firstMs: minute(2), lastMs: minute(2) },
      ]);
  });

  it.each([
    ['all', 10, [6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]],
    ['all', 3, [12, 13, 14, 15, 16]],
    ['last', 10, [14, 15, 16]],
    ['none', 10, [15, 16]],
    ['all', 0, [15, 16]],
  ] as const)(
    'that were missed by up to 10 minutes are made up for: %s, with at most %d of them',
    (policy, max, expected) => {
      const due = dueTicks(facts(minute(16), { catchUp: { policy, max, maxAgeMs: 10 * MINUTE } }), undecided);
      expect(due?.fire.map(({ atMs }) => (atMs - minute(0)) / MINUTE)).toEqual(expected);
      expect(due!.fire.length + due!.skipped.reduce((sum, { count }) => sum + count, 0)).toBe(16);
    },
  );

  describe('with more ticks than are decided at once', () => {
    const everySecond = { case: 'cronSchedule', value: { schedule: '@every 1s' } } as const;
    const eachSecond = create(ScheduleSchema, { ScheduleExpression: everySecond });
    const NOW = START + 6 * HOUR;
    const NEWEST_MISSED = NOW - MINUTE - 1_000;
    /** A span between two hours after the start. */
    const span = (from: number, until: number): Span => ({
      fromMs: START + from * HOUR,
      untilMs: START + until * HOUR,
    });

    /** All decisions up to now, one after another. */
    const decideAll = (changes: Partial<DueFacts>, paused: readonly Span[] = []) => {
      const segments = [{ ...active(), schedule: eachSecond }];
      const decisions: NonNullable<ReturnType<typeof dueTicks>>[] = [];
      for (;;) {
        const untilMs = decisions.at(-1)?.untilMs ?? 0;
        const due = dueTicks(facts(NOW, { segments, ...changes }), { ...undecided, paused, untilMs });
        if (due === undefined) return decisions;
        decisions.push(due);
      }
    };
    const madeUpFor = (decisions: ReturnType<typeof decideAll>): readonly number[] =>
      decisions.flatMap(({ fire }) => fire.filter(({ isMissed }) => isMissed).map(({ atMs }) => atMs));
    /** The times of `count` ticks, a second apart, up to the last one. */
    const newest = (count: number, lastMs = NEWEST_MISSED): readonly number[] =>
      Array.from({ length: count }, (_, index) => lastMs - (count - 1 - index) * 1_000);

    it.each([
      ['all', 100, 100],
      ['last', 100, 1],
      ['none', 100, 0],
      ['all', 0, 0],
      ['all', 100_000, 1_000],
    ] as const)('are made up for by %s, with at most %d of them: the newest %d', (policy, max, expected) => {
      const decisions = decideAll({ catchUp: { policy, max, maxAgeMs: 24 * HOUR } });
      expect(decisions.length).toBeGreaterThan(3);
      expect(madeUpFor(decisions)).toEqual(newest(expected));
      const skipped = decisions.flatMap((each) => each.skipped).reduce((sum, { count }) => sum + count, 0);
      expect(skipped + decisions.flatMap(({ fire }) => fire).length).toBe(6 * 3_600);
    });

    it('are made up for from the newest back, without those of an archived project or a paused schedule', () => {
      const catchUp = { policy: 'all', max: 3_700, maxAgeMs: 24 * HOUR } as const;
      const beforePause = newest(1_000, START + 1 * HOUR);
      expect(madeUpFor(decideAll({ catchUp, archived: [span(3, 6)] }, [span(1, 3)]))).toEqual(beforePause);
    });
  });
});

/**
 * A change half a minute after a minute: a version is activated, the plan deactivated, its project archived or
 * restored.
 */
type Step = { /** Minute. */ readonly at: number; readonly what: 'v1' | 'v2' | 'off' | 'archive' | 'restore' };

describe('the ticks of a plan with random changes', () => {
  const HOURS = Number(process.env['FLIGHTLOG_TEST_STORY_HOURS'] ?? 6);
  const RUNS = Number(process.env['FLIGHTLOG_TEST_STORIES'] ?? 60);
  const steps = fc.array(
    fc.record({
      at: fc.integer({ min: 1, max: HOURS * 60 }),
      what: fc.constantFrom<Step['what']>('v1', 'v2', 'off', 'archive', 'restore'),
    }),
    { maxLength: 12 },
  );
  /** The minutes at which ticks are decided on. */
  const checks = fc.array(fc.integer({ min: 1, max: HOURS * 60 }), { maxLength: 60 });
  /** The changes by their minutes, the first of each minute. */
  const ordered = (changes: readonly Step[]): readonly Step[] =>
    changes.toSorted((a, b) => a.at - b.at).filter((step, index, sorted) => step.at !== sorted[index - 1]?.at);

  /** The version of each minute's tick, or why there is none; changes take place half a minute after their minute. */
  const modelOf = (story: readonly Step[]): ReadonlyMap<number, string> => {
    const model = new Map<number, string>();
    let version: string | undefined;
    let isArchived = false;
    for (let each = 1; each <= HOURS * 60; each += 1) {
      if (version !== undefined) model.set(each, isArchived ? 'archived' : version);
      for (const { at, what } of story) {
        if (at !== each) continue;
        if (what === 'archive' || what === 'restore') isArchived = what === 'archive';
        else version = what === 'off' ? undefined : what;
      }
    }
    return model;
  };

  /** Adds the ticks of a run of skipped ticks to `found`, and checks the count of the run, and that none was there. */
  const noteSkipped = (run: SkippedTicks, model: ReadonlyMap<number, string>, found: Map<number, string>): void => {
    const minuteAt = (ms: number): number => (ms - minute(0)) / MINUTE;
    const ticks = [...model.keys()].filter((each) => each >= minuteAt(run.firstMs) && each <= minuteAt(run.lastMs));
    expect(ticks).toHaveLength(run.count);
    for (const each of ticks) expect(found.has(each)).toBe(false);
    for (const each of ticks) found.set(each, run.reason === 'deactivated' ? run.version : run.reason);
  };

  /** The facts that the changes up to a time have left: the segments of the plan, and the spans of archival. */
  const recorded = (story: readonly Step[], nowMs: number) => {
    let segments: readonly Segment[] = [];
    let archived: readonly Span[] = [];
    for (const { at, what } of story) {
      const atMs = minute(at) + 30_000;
      if (atMs > nowMs) break;
      if (what === 'archive') archived = [...archived, { fromMs: atMs }];
      else if (what === 'restore')
        archived = archived.map((span) => (span.untilMs === undefined ? { ...span, untilMs: atMs } : span));
      else
        segments = withActivation(
          segments,
          what === 'off' ? { atMs } : { atMs, version: what, schedule: minutely, principal: 'ada' },
        );
    }
    return { segments, archived };
  };

  it('are each decided once, for the version that was active, whenever and however often they are decided on', () => {
    fc.assert(
      fc.property(steps, checks, (changes, times) => {
        const story = ordered(changes);
        const found = new Map<number, string>();
        let untilMs = 0;
        for (const time of [...times.toSorted((a, b) => a - b), HOURS * 60]) {
          const nowMs = minute(time) + 1_000;
          const due = dueTicks(facts(nowMs, recorded(story, nowMs)), { ...undecided, untilMs });
          if (due === undefined) continue;
          expect(due.untilMs).toBeGreaterThan(untilMs);
          untilMs = due.untilMs;
          for (const { atMs, version } of due.fire) {
            const at = (atMs - minute(0)) / MINUTE;
            expect(found.has(at)).toBe(false);
            found.set(at, version);
          }
          for (const run of due.skipped) noteSkipped(run, modelOf(story), found);
        }
        expect(new Map([...found].sort(([a], [b]) => a - b))).toEqual(modelOf(story));
      }),
      { numRuns: RUNS },
    );
  });
});

describe('a tick that is due', () => {
  it.each([
    ['allow', true, true, 'fire'],
    ['skip', false, true, 'skip'],
    ['skip', false, false, 'fire'],
    ['queue', false, true, 'wait'],
    ['queue', false, false, 'fire'],
    ['queue', true, false, 'wait'],
    ['skip', true, true, 'wait'],
  ] as const)(
    'under the policy %s, with an earlier tick open (%s) and the last execution running (%s), leads to: %s',
    (overlap, isBehind, isRunning, expected) => {
      expect(overlapDecision(overlap, { isBehind, isRunning })).toBe(expected);
    },
  );
});

describe('the annotations of a launch plan', () => {
  const defaults = { catchUp: ALL, overlap: 'allow' } as const;

  it('change the settings of its schedule', () => {
    const annotations = {
      'flightlog.io/schedule-catch-up': 'last',
      'flightlog.io/schedule-catch-up-max': '5',
      'flightlog.io/schedule-catch-up-max-age': '2h',
      'flightlog.io/schedule-overlap': 'queue',
    };
    expect(withAnnotations(defaults, annotations)).toEqual({
      catchUp: { policy: 'last', max: 5, maxAgeMs: 2 * HOUR },
      overlap: 'queue',
    });
  });

  it('change nothing when their value is none of the choices', () => {
    expect(withAnnotations(defaults, { 'flightlog.io/schedule-overlap': 'sometimes' })).toEqual(defaults);
  });
});
