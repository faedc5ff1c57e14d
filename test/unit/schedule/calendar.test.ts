import { create, type MessageInitShape } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FixedRateUnit, ScheduleSchema } from '../../../proto/gen/platformidl/admin/schedule_pb.js';
import { cronProblem } from '../../../services/launch-plan/registration/schedule.js';
import { shifted } from '../../../services/schedule/calendar/offset.js';
import { tickName } from '../../../services/schedule/calendar/tick-name.js';
import { nextTicks, ticksOf } from '../../../services/schedule/calendar/ticks.js';
import { zoneOf } from '../../../services/schedule/calendar/zone.js';

/** The milliseconds since 1970 of an ISO 8601 time. */
const at = (text: string): number => Date.parse(text);

const scheduleOf = (expression: MessageInitShape<typeof ScheduleSchema>['ScheduleExpression']) =>
  create(ScheduleSchema, { ScheduleExpression: expression! });
const cron = (schedule: string) => scheduleOf({ case: 'cronSchedule', value: { schedule } });

/** The next ticks of a cron schedule that was activated at `anchor`, after an instant, as texts without seconds. */
const next = (schedule: string, from: string, count: number, anchor = from): readonly string[] =>
  nextTicks(ticksOf(cron(schedule), at(anchor), 'UTC'), at(from), count).map((ms) =>
    new Date(ms).toISOString().replace(':00.000Z', ''),
  );

describe('the ticks of a schedule', () => {
  // Where both the date and the weekday are limited, a day needs to match only one of them; `*`, `?` and `*/1` are no
  // limits, `*/2` is one. A step beyond the end of its range leaves the first value. 2026-01-01 is a Thursday.
  it.each([
    ['*/10 * * * *', '2026-01-01T00:00:00Z', ['2026-01-01T00:10', '2026-01-01T00:20']],
    ['@daily', '2026-01-01T00:00:00Z', ['2026-01-02T00:00', '2026-01-03T00:00']],
    ['hourly', '2026-01-01T00:00:00Z', ['2026-01-01T01:00', '2026-01-01T02:00']],
    ['days', '2026-01-01T00:00:00Z', ['2026-01-02T00:00', '2026-01-03T00:00']],
    ['weekly', '2026-01-01T00:00:00Z', ['2026-01-04T00:00', '2026-01-11T00:00']],
    ['months', '2026-01-01T00:00:00Z', ['2026-02-01T00:00', '2026-03-01T00:00']],
    ['annually', '2026-01-01T00:00:00Z', ['2027-01-01T00:00', '2028-01-01T00:00']],
    ['CRON_TZ=Asia/Kolkata daily', '2026-01-01T00:00:00Z', ['2026-01-01T18:30', '2026-01-02T18:30']],
    ['0 0 29 2 *', '2026-01-01T00:00:00Z', ['2028-02-29T00:00', '2032-02-29T00:00']],
    ['0 0 31 * *', '2026-01-31T00:00:00Z', ['2026-03-31T00:00', '2026-05-31T00:00']],
    ['0 0 13 * 5', '2026-01-01T00:00:00Z', ['2026-01-02T00:00', '2026-01-09T00:00', '2026-01-13T00:00']],
    ['14 3 19 1 *', '2038-01-18T00:00:00Z', ['2038-01-19T03:14', '2039-01-19T03:14']],
    ['0 0 29 2 *', '2096-03-01T00:00:00Z', ['2104-02-29T00:00']],
    ['0 0 30 2 *', '2026-01-01T00:00:00Z', []],
    ['0 0 31 2,4,6,9,11 *', '2026-01-01T00:00:00Z', []],
    ['0 0 31 2,4,6,9,11 MON', '2026-02-01T00:00:00Z', ['2026-02-02T00:00', '2026-02-09T00:00']],
    ['0 0 * * Sun-SUN', '2026-01-01T00:00:00Z', ['2026-01-04T00:00', '2026-01-11T00:00']],
    ['0 0 */1 * MON', '2026-01-01T00:00:00Z', ['2026-01-05T00:00', '2026-01-12T00:00']],
    ['0 0 1 * *,3', '2026-01-02T00:00:00Z', ['2026-02-01T00:00', '2026-03-01T00:00']],
    ['0 0 */2 * TUE', '2026-01-04T00:00:00Z', ['2026-01-05T00:00', '2026-01-06T00:00', '2026-01-07T00:00']],
    ['0 12 ? * ?', '2026-01-01T00:00:00Z', ['2026-01-01T12:00', '2026-01-02T12:00']],
    ['*/90 */48 * * *', '2026-01-01T00:00:00Z', ['2026-01-02T00:00', '2026-01-03T00:00']],
    ['15/90 6 */40 * *', '2026-01-01T00:00:00Z', ['2026-01-01T06:15', '2026-02-01T06:15']],
    ['0 12 ? * MON', '2026-01-01T00:00:00Z', ['2026-01-05T12:00', '2026-01-12T12:00']],
    ['CRON_TZ=Asia/Kolkata 0 9 * * *', '2026-01-01T00:00:00Z', ['2026-01-01T03:30', '2026-01-02T03:30']],
  ])('of %s after %s begin with %j', (schedule, from, expected) => {
    expect(next(schedule, from, expected.length || 1)).toEqual(expected);
  });

  it('of @every are counted from the full second of the activation', () => {
    const ticks = ticksOf(cron('@every 90s'), at('2026-01-01T00:00:10.700Z'), 'UTC');
    expect(nextTicks(ticks, at('2026-01-01T00:00:10.700Z'), 2)).toEqual([
      at('2026-01-01T00:01:40Z'),
      at('2026-01-01T00:03:10Z'),
    ]);
    expect(ticks.after(at('2026-01-01T00:03:10Z'))).toBe(at('2026-01-01T00:04:40Z'));
  });

  it('of a rate are counted from the activation in elapsed time, and are none for a rate of 0', () => {
    const rate = scheduleOf({ case: 'rate', value: { value: 2, unit: FixedRateUnit.DAY } });
    const anchor = at('2026-03-28T12:00:00Z');
    expect(nextTicks(ticksOf(rate, anchor, 'Europe/Berlin'), anchor, 2)).toEqual([
      at('2026-03-30T12:00:00Z'),
      at('2026-04-01T12:00:00Z'),
    ]);
    const none = scheduleOf({ case: 'rate', value: { value: 0, unit: FixedRateUnit.DAY } });
    expect(ticksOf(none, anchor, 'UTC').after(anchor)).toBeUndefined();
  });

  it.each(['99999999h', '9999999999999999999999999h'])('of @every %s are none before the year 10000', (distance) => {
    expect(ticksOf(cron(`@every ${distance}`), at('2026-01-01T00:00:00Z'), 'UTC').after(0)).toBeUndefined();
  });

  it('of a rate end before the year 10000', () => {
    const rate = scheduleOf({ case: 'rate', value: { value: 2_900_000, unit: FixedRateUnit.DAY } });
    const anchor = at('2026-01-01T00:00:00Z');
    expect(nextTicks(ticksOf(rate, anchor, 'UTC'), anchor, 2)).toEqual([anchor + 2_900_000 * 86_400_000]);
  });

  it('of the deprecated field cron_expression are those of a cron expression', () => {
    const deprecated = scheduleOf({ case: 'cronExpression', value: '0 * * * *' });
    expect(ticksOf(deprecated, 0, 'UTC').after(at('2026-01-01T00:30:00Z'))).toBe(at('2026-01-01T01:00:00Z'));
  });

  it('are in the default zone where the expression names none', () => {
    const ticks = ticksOf(cron('0 12 * * *'), 0, 'America/New_York');
    expect(ticks.after(at('2026-07-01T00:00:00Z'))).toBe(at('2026-07-01T16:00:00Z'));
  });
});

describe('where clocks are set forward', () => {
  const berlin = 'CRON_TZ=Europe/Berlin';

  it('a local time that is left out ticks as if clocks had not been set yet', () => {
    expect(next(`${berlin} 30 2 * * *`, '2026-03-28T00:00:00Z', 3)).toEqual([
      '2026-03-28T01:30',
      '2026-03-29T01:30', // 03:30 in Berlin
      '2026-03-30T00:30',
    ]);
  });

  it('a schedule for every hour goes on by elapsed time', () => {
    expect(next(`${berlin} */30 * * * *`, '2026-03-29T00:00:00Z', 3)).toEqual([
      '2026-03-29T00:30',
      '2026-03-29T01:00',
      '2026-03-29T01:30',
    ]);
  });

  it('two local times that become one instant tick once', () => {
    expect(next(`${berlin} 30 2,3 * * *`, '2026-03-29T00:00:00Z', 2)).toEqual(['2026-03-29T01:30', '2026-03-30T00:30']);
  });
});

describe('where clocks are set back', () => {
  const berlin = 'CRON_TZ=Europe/Berlin';

  it('a time that occurs twice ticks at its first occurrence', () => {
    expect(next(`${berlin} 30 2 * * *`, '2026-10-24T12:00:00Z', 2)).toEqual(['2026-10-25T00:30', '2026-10-26T01:30']);
    expect(next(`${berlin} 30 2 * * *`, '2026-10-25T00:30:00Z', 1)).toEqual(['2026-10-26T01:30']);
  });

  it('a schedule for every hour goes on by elapsed time', () => {
    expect(next(`${berlin} 0 * * * *`, '2026-10-24T23:00:00Z', 4)).toEqual([
      '2026-10-25T00:00',
      '2026-10-25T01:00',
      '2026-10-25T02:00',
      '2026-10-25T03:00',
    ]);
  });

  it('a time that occurs twice by half an hour (Lord Howe) ticks at its first occurrence', () => {
    expect(next('CRON_TZ=Australia/Lord_Howe 45 1 * * *', '2026-04-04T00:00:00Z', 2)).toEqual([
      '2026-04-04T14:45',
      '2026-04-05T15:15',
    ]);
  });

  it('a schedule whose hours begin with * ticks each time a local time occurs, even on one day a year', () => {
    expect(next('CRON_TZ=America/Havana 0 */24 1 11 *', '2026-11-01T00:00:00Z', 3)).toEqual([
      '2026-11-01T04:00',
      '2026-11-01T05:00',
      '2027-11-01T04:00',
    ]);
  });

  it('at a minute past the hour, the offset is that of the instant', () => {
    const zone = zoneOf('America/St_Johns');
    const instants = ['2010-11-07T02:30:30Z', '2010-11-07T02:31:00Z', '2010-11-07T02:30:30Z'];
    expect(instants.map((text) => zone.offsetAt(at(text)) / 60_000)).toEqual([-150, -210, -150]);
  });
});

describe('a cron schedule in any zone', () => {
  const zones = ['UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kolkata', 'America/Santiago'];
  const MINUTE = 60_000;
  const RUNS = Number(process.env['FLIGHTLOG_TEST_CALENDARS'] ?? 15);

  /** Gives the local hour and minute of an instant, without the code under test. */
  const clock = (zone: string) => {
    const format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      hour: 'numeric',
      minute: 'numeric',
    });
    return (ms: number): readonly [number, number] => {
      const parts = format.formatToParts(ms);
      const part = (type: string): number => Number(parts.find((each) => each.type === type)?.value);
      return [part('hour'), part('minute')];
    };
  };

  it('of every hour ticks at exactly the instants at which the local time has the minute', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        fc.integer({ min: 0, max: 59 }),
        fc.integer({ min: 0, max: 364 }),
        (zone, minute, day) => {
          const from = at('2026-01-01T00:00:00Z') + day * 86_400_000;
          const until = from + 2 * 86_400_000;
          const read = clock(zone);
          const model: number[] = [];
          for (let ms = from + MINUTE; ms <= until; ms += MINUTE) if (read(ms)[1] === minute) model.push(ms);
          const ticks = ticksOf(cron(`CRON_TZ=${zone} ${minute} * * * *`), from, 'UTC');
          expect(nextTicks(ticks, from, model.length)).toEqual(model);
        },
      ),
      { numRuns: RUNS },
    );
  });

  it('of one time of day ticks a day apart, give or take an hour; the next tick is always one of these', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        fc.integer({ min: 0, max: 23 }),
        fc.integer({ min: 0, max: 59 }),
        fc.array(fc.integer({ min: 1, max: 86_400_000 }), { minLength: 20, maxLength: 60 }),
        (zone, hour, minute, steps) => {
          const from = at('2026-03-01T00:00:00Z');
          const ticks = ticksOf(cron(`CRON_TZ=${zone} ${minute} ${hour} * * *`), from, 'UTC');
          const ahead = nextTicks(ticks, from, steps.length + 2);
          const times = steps.map((_, index) => steps.slice(0, index).reduce((sum, step) => sum + step, from));
          for (const now of times) expect(ticks.after(now)).toBe(ahead.find((tick) => tick > now));
          const gaps = ahead.slice(1).map((tick, index) => tick - ahead[index]!);
          for (const gap of gaps) expect(Math.abs(gap - 86_400_000)).toBeLessThanOrEqual(3_600_000);
        },
      ),
      { numRuns: RUNS },
    );
  });
});

describe('a cron expression of any five fields', () => {
  const DAY = 86_400_000;
  const DAYS = 400;

  type Field = { readonly text: string; readonly isAny: boolean; readonly values: ReadonlySet<number> };
  /** The values from a minimum to a maximum, in steps. */
  const upTo = (min: number, max: number, step = 1): readonly number[] =>
    Array.from({ length: Math.floor((max - min) / step) + 1 }, (_, index) => min + index * step);

  /** A part of a field, and the values that match it. */
  const partOf = (min: number, max: number): fc.Arbitrary<readonly [string, readonly number[]]> => {
    const value = fc.integer({ min, max });
    const step = fc.integer({ min: 2, max: Math.max(2, max - min) });
    const range = fc.tuple(value, value).map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const);
    return fc.oneof(
      value.map((one) => [`${one}`, [one]] as const),
      range.map(([from, to]) => [`${from}-${to}`, upTo(from, to)] as const),
      fc.tuple(range, step).map(([[from, to], each]) => [`${from}-${to}/${each}`, upTo(from, to, each)] as const),
      step.map((each) => [`*/${each}`, upTo(min, max, each)] as const),
      fc.tuple(value, step).map(([from, each]) => [`${from}/${each}`, upTo(from, max, each)] as const),
    );
  };
  /** A field with values in this range. */
  const fieldOf = (min: number, max: number): fc.Arbitrary<Field> =>
    fc.oneof(
      fc.constantFrom('*', '?').map((text) => ({ text, isAny: true, values: new Set(upTo(min, max)) })),
      fc.array(partOf(min, max), { minLength: 1, maxLength: 3 }).map((parts) => ({
        text: parts.map(([text]) => text).join(),
        isAny: false,
        values: new Set(parts.flatMap(([, values]) => values)),
      })),
    );
  const fields = fc.tuple(fieldOf(0, 59), fieldOf(0, 23), fieldOf(1, 31), fieldOf(1, 12), fieldOf(0, 6));

  /** True for a day, given by its midnight in UTC, on which the expression has ticks. */
  const isOn = (dayMs: number, [, , date, month, weekday]: readonly Field[]): boolean => {
    const day = new Date(dayMs);
    if (!month!.values.has(day.getUTCMonth() + 1)) return false;
    const isDate = date!.values.has(day.getUTCDate());
    const isWeekday = weekday!.values.has(day.getUTCDay());
    return date!.isAny || weekday!.isAny ? isDate && isWeekday : isDate || isWeekday;
  };
  /** The ticks of such a day. */
  const ofDay = (dayMs: number, [minute, hour]: readonly Field[]): readonly number[] => {
    const ascending = ({ values }: Field): readonly number[] => [...values].sort((a, b) => a - b);
    return ascending(hour!).flatMap((h) => ascending(minute!).map((m) => dayMs + (h * 60 + m) * 60_000));
  };

  it('ticks at the times that a model finds by going through all days', () => {
    fc.assert(
      fc.property(fields, fc.integer({ min: 0, max: 1_500 }), (chosen, startDay) => {
        const text = chosen.map((field) => field.text).join(' ');
        expect(cronProblem(text)).toBeUndefined();
        const startMs = at('2026-01-01T00:00:00Z') + startDay * DAY;
        const days = Array.from({ length: DAYS }, (_, index) => startMs + index * DAY).filter((day) =>
          isOn(day, chosen),
        );
        const expected = days.slice(0, 4).flatMap((day) => ofDay(day, chosen));
        expect(nextTicks(ticksOf(cron(text), 0, 'UTC'), startMs - 1, expected.length)).toEqual(expected);
      }),
      { numRuns: Number(process.env['FLIGHTLOG_TEST_CRON_TEXTS'] ?? 50) },
    );
  });
});

describe('the kickoff time of a tick', () => {
  it.each([
    ['', '2026-01-31T00:00:00Z'],
    ['PT1H', '2026-01-31T01:00:00Z'],
    ['-P1D', '2026-01-30T00:00:00Z'],
    ['P1Y', '2027-01-31T00:00:00Z'],
    ['P1W2DT3H4M5S', '2026-02-09T03:04:05Z'],
    ['one hour', '2026-01-31T00:00:00Z'],
    ['PT1.5S', '2026-01-31T00:00:01.500Z'],
    ['PT0.00000001S', '2026-01-31T00:00:00Z'],
    // An offset that leads beyond the years 1 to 9999 shifts nothing.
    ['P7973Y', '9999-01-31T00:00:00Z'],
    ['P7974Y', '2026-01-31T00:00:00Z'],
    ['-P2026Y', '2026-01-31T00:00:00Z'],
    [`P${'9'.repeat(400)}Y`, '2026-01-31T00:00:00Z'],
  ])('at 2026-01-31T00:00:00Z, with the offset %j, is %s', (offset, expected) => {
    expect(shifted(at('2026-01-31T00:00:00Z'), offset)).toBe(at(expected));
  });
});

describe('the name of the execution', () => {
  it('of a tick is f, 16 hexadecimal digits and three zeros, and is another one for another time', () => {
    const owner = { project: 'flytesnacks', domain: 'development', name: 'plan', version: 'v1' };
    expect(tickName(owner, at('2026-01-01T00:00:00Z'))).toMatch(/^f[0-9a-f]{16}000$/);
    expect(tickName(owner, at('2026-01-01T00:00:00Z'))).not.toBe(tickName(owner, at('2026-01-01T00:00:01Z')));
  });
});
