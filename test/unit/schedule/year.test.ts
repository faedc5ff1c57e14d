import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { timestampMs } from '@bufbuild/protobuf/wkt';
import fc from 'fast-check';
import { expect, it } from 'vitest';

import type { SkippedTicks } from '../../../proto/gen/platformidl/eventlog/schedule_pb.js';
import { decodeEvent } from '../../../services/kernel/decode-event.js';
import type { EventLog, EventStore } from '../../../services/kernel/ports/event-store.js';
import { tickName } from '../../../services/schedule/calendar/tick-name.js';
import type { LaunchPlanName } from '../../../services/kernel/identifier.js';
import { scheduleCodec, type ScheduleEvent, scheduleStream } from '../../../services/schedule/events.js';
import { sqliteEventStore } from '../../../services/store/log/sqlite-event-store.js';
import { filePayloadStore } from '../../../services/store/payloads/file-payload-store.js';
import { DAY, type PlanModel } from './year/model.js';
import { play } from './year/play.js';
import { storyOf } from './year/story.js';

const setting = (name: string, otherwise: number): number =>
  Number(process.env[`FLIGHTLOG_TEST_YEAR_${name}`] ?? otherwise);
const SIZE = { plans: setting('PLANS', 6), days: setting('DAYS', 12), kills: setting('KILLS', 5) };
const START = Date.parse('2027-09-01T00:00:00Z');

/**
 * The ticks of a run of skipped ticks: those that the model has from its first to its last one. A tick is a text of its
 * time in milliseconds and the version of the launch plan: `1819756800000 v1`.
 */
const ticksOf = ({ version, first, last, count }: SkippedTicks, { outcomes }: PlanModel): readonly string[] => {
  const ticks = [...outcomes.keys()].filter((key) => {
    const [at, tickVersion] = key.split(' ');
    return tickVersion === version && Number(at) >= timestampMs(first!) && Number(at) <= timestampMs(last!);
  });
  expect(BigInt(ticks.length)).toBe(count);
  return ticks;
};

/** The outcomes that an event records, each with its tick. */
const outcomesIn = ({ type, data }: ScheduleEvent, model: PlanModel): readonly (readonly [string, string])[] => {
  if (type === 'ScheduleTicksDecided')
    return data.skipped.flatMap((run) => ticksOf(run, model).map((tick) => [tick, run.reason] as const));
  if (type === 'ScheduleTickFired') return [[`${timestampMs(data.at!)} ${data.version}`, 'fired']];
  return type === 'ScheduleTickSkipped' ? [[`${timestampMs(data.at!)} ${data.version}`, data.reason]] : [];
};

/** The outcome of each tick of a plan in the log. */
const recordedOf = async (
  log: EventLog,
  plan: LaunchPlanName,
  model: PlanModel,
): Promise<ReadonlyMap<string, string>> => {
  const found: (readonly [string, string])[] = [];
  for await (const page of log.readStream(scheduleStream(plan), { from: 0n }))
    found.push(...page.flatMap((event) => outcomesIn(decodeEvent(scheduleCodec, event), model)));
  const outcomes = new Map(found);
  expect(outcomes.size, 'ticks with two outcomes').toBe(found.length);
  return outcomes;
};

/** The name of the execution of a tick. */
const nameOf = (plan: LaunchPlanName, key: string): string => {
  const [at, version = ''] = key.split(' ');
  return tickName({ ...plan, version }, Number(at));
};

const sorted = (outcomes: ReadonlyMap<string, string>) => [...outcomes].sort(([a], [b]) => (a < b ? -1 : 1));

/**
 * The executions that a plan must have: of its fired ticks, and of those that a process launched and did not record.
 */
const executionsOf = (plan: LaunchPlanName, { outcomes, open }: PlanModel, launched: ReadonlyMap<string, unknown>) => [
  ...[...outcomes].filter(([, outcome]) => outcome === 'fired').map(([key]) => nameOf(plan, key)),
  ...open.map(({ atMs, version }) => nameOf(plan, `${atMs} ${version}`)).filter((name) => launched.has(name)),
];

/** Plays the story of a seed on a log, and compares what was recorded and launched with the models of its plans. */
const playOn = async (directory: string, store: EventStore, seed: number) => {
  const story = storyOf(seed, START, SIZE);
  const payloads = filePayloadStore({ directory });
  const played = { story, startMs: START, endMs: START + SIZE.days * DAY, store, payloads };
  const { world, models, killed, close } = await play(played);
  await close();
  for (const plan of story.plans) {
    const model = models.get(plan.name)!;
    expect(sorted(await recordedOf(store, plan, model)), plan.name).toEqual(sorted(model.outcomes));
  }
  const executions = story.plans.flatMap((plan) => executionsOf(plan, models.get(plan.name)!, world.launched));
  expect([...world.launched.keys()].sort()).toEqual(executions.sort());
  expect(killed).toBeGreaterThan(0);
  process.stdout.write(`${SIZE.plans} plans, ${SIZE.days} days, ${world.launched.size} executions, ${killed} kills\n`);
};

it(
  `every tick of ${SIZE.days} days has the outcome that the model gives it, wherever processes are killed`,
  { timeout: 3_600_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer(), async (seed) => {
        const directory = mkdtempSync(join(tmpdir(), 'flightlog-year-'));
        const store = await sqliteEventStore({ directory, synchronous: 'OFF' });
        try {
          await playOn(directory, store, seed);
        } finally {
          await store.close();
          rmSync(directory, { recursive: true });
        }
      }),
      { numRuns: setting('RUNS', 1), endOnFailure: true },
    );
  },
);
