import { randomFillSync } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { create, type DescMethod, type Message, type MessageInitShape } from '@bufbuild/protobuf';
import { timestampDate, timestampFromMs } from '@bufbuild/protobuf/wkt';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import {
  ProjectSchema,
  Project_ProjectState as ProjectState,
} from '../../../proto/gen/platformidl/admin/project_pb.js';
import { type Schedule, ScheduleSchema } from '../../../proto/gen/platformidl/admin/schedule_pb.js';
import { ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import {
  type ScheduleFireResponse,
  ScheduleFireRequestSchema,
  type ScheduleList,
  ScheduleListRequestSchema,
  SchedulePauseRequestSchema,
  ScheduleResumeRequestSchema,
  ScheduleService,
  ScheduleSkipRequestSchema,
  type ScheduleStatus,
  TickOutcome_Kind as Kind,
} from '../../../proto/gen/platformidl/eventlog/schedule_service_pb.js';
import type { EventStore } from '../../../services/kernel/ports/event-store.js';
import { launchPlanAggregate } from '../../../services/launch-plan/decider.js';
import { launchPlanStream } from '../../../services/launch-plan/events.js';
import { nextFire } from '../../../services/reference/next-fire.js';
import { projectAggregate } from '../../../services/project/decider.js';
import { projectStream } from '../../../services/project/events.js';
import { type Activations, followActivations } from '../../../services/reference/activations.js';
import type { DueTick } from '../../../services/schedule/calendar/due.js';
import { tickName } from '../../../services/schedule/calendar/tick-name.js';
import type { FireOutcome, ScheduleCommand } from '../../../services/schedule/commands.js';
import { scheduleAggregate } from '../../../services/schedule/decider.js';
import { scheduleStream } from '../../../services/schedule/events.js';
import type { Launcher } from '../../../services/schedule/ports.js';
import { scheduleRoutes } from '../../../services/schedule/rpc.js';
import { openSessions } from '../../../services/sessions/sessions.js';
import { sqliteEventStore } from '../../../services/store/log/sqlite-event-store.js';
import { filePayloadStore } from '../../../services/store/payloads/file-payload-store.js';

const MINUTE = 60_000;
const START = Date.parse('2026-01-01T00:00:30Z');
const NONE = new Uint8Array();
const SCOPE = { project: 'p', domain: 'd' };
/** The time of a full minute, which has a tick: the first one is half a minute after `START`. */
const minute = (count: number): number => START - 30_000 + count * MINUTE;

let directory: string;
let store: EventStore;
let activations: Activations;
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'flightlog-schedule-rpc-'));
  store = await sqliteEventStore({ directory });
  activations = followActivations(store, { onParked: () => undefined, advancesOverAll: false });
});
afterEach(async () => {
  await activations.close();
  await store.close();
  rmSync(directory, { recursive: true });
});

/** A control plane with a clock that is set by hand, and its routes of schedules. */
const openPlane = () => {
  const clock = { ms: START };
  const now = (): number => clock.ms;
  const sessions = openSessions({ store, payloads: filePayloadStore({ directory }), now, isShared: true });
  let commands = 0;
  const context = () => ({ actor: 'ada', commandId: `command-${(commands += 1)}` });
  const idOf = (name: string, version = 'v1') => ({
    resourceType: ResourceType.LAUNCH_PLAN as const,
    ...SCOPE,
    name,
    version,
  });

  const cron = (schedule: string): Schedule =>
    create(ScheduleSchema, { ScheduleExpression: { case: 'cronSchedule', value: { schedule } } });
  /** Registers a version of a launch plan with a schedule or a cron expression, or without, and activates it. */
  const activate = async (name: string, given: Schedule | string | undefined, version = 'v1'): Promise<void> => {
    const id = idOf(name, version);
    const spec = { spec: NONE, expectedInputs: NONE, expectedOutputs: NONE, limitsConcurrency: false, digest: NONE };
    const schedule = typeof given === 'string' ? cron(given) : given;
    for (const command of [
      { type: 'RegisterLaunchPlan', id, ...spec },
      { type: 'ActivateLaunchPlan', id, schedule },
    ] as const)
      await sessions.handle(launchPlanAggregate, launchPlanStream(id), command, context());
  };
  const deactivate = (name: string) =>
    sessions.handle(
      launchPlanAggregate,
      launchPlanStream(idOf(name)),
      { type: 'DeactivateLaunchPlan', id: idOf(name) },
      context(),
    );
  const send = (name: string, command: ScheduleCommand) =>
    sessions.handle(scheduleAggregate, scheduleStream({ ...SCOPE, name }), command, context());
  const setProject = (type: 'RegisterProject' | 'UpdateProject', state: ProjectState) =>
    sessions.handle(
      projectAggregate,
      projectStream(SCOPE.project),
      { type, project: create(ProjectSchema, { id: SCOPE.project, name: SCOPE.project, state }) },
      context(),
    );

  const due = (atMs: number): DueTick => ({ atMs, version: 'v1', principal: 'ada', isMissed: false });
  /** Decides on ticks to be fired, and records an outcome for those that have one. */
  const fire = async (
    name: string,
    ticks: readonly (readonly [atMs: number, outcome?: FireOutcome])[],
  ): Promise<void> => {
    const untilMs = ticks.at(-1)![0];
    const fired = ticks.map(([atMs]) => due(atMs));
    await send(name, { type: 'DecideTicks', due: () => ({ untilMs, fire: fired, skipped: [] }) });
    for (const [atMs, outcome] of ticks)
      if (outcome) await send(name, { type: 'RecordOutcome', tick: { atMs, version: 'v1' }, outcome });
  };

  const launched = new Map<string, string>();
  /** The outcome or the error of the next launches; absent while they succeed. */
  const refusing: { outcome?: FireOutcome | Error } = {};
  const launcher: Launcher = {
    launch: ({ plan, version, atMs, principal }) => {
      if (refusing.outcome instanceof Error) return Promise.reject(refusing.outcome);
      if (refusing.outcome) return Promise.resolve(refusing.outcome);
      const execution = { ...SCOPE, name: tickName({ ...plan, version }, atMs) };
      launched.set(execution.name, principal);
      return Promise.resolve({ kind: 'fired', execution });
    },
  };
  const routes = scheduleRoutes({ sessions, activations, launcher, timezone: 'UTC', now });
  const ask = <Answer>(method: DescMethod, message: Message, key?: string): Promise<Answer> => {
    const { handle } = routes.find((route) => route.method === method)!;
    const call = { principal: 'ada', requestId: '', isCancelled: () => false, answeredAt: () => undefined };
    const idempotency = key === undefined ? undefined : { key, operation: method.name, content: 'the same' };
    return handle(message as never, { ...call, idempotency }) as Promise<Answer>;
  };
  const { method } = ScheduleService;
  const list = (request: MessageInitShape<typeof ScheduleListRequestSchema> = {}): Promise<ScheduleList> =>
    ask(method.listSchedules, create(ScheduleListRequestSchema, { ...SCOPE, ...request }));
  const fireNow = (name: string, key?: string): Promise<ScheduleFireResponse> =>
    ask(method.fireSchedule, create(ScheduleFireRequestSchema, { ...SCOPE, name }), key);
  const skip = (name: string, atMs?: number, key?: string): Promise<ScheduleStatus> =>
    ask(
      method.skipTick,
      create(ScheduleSkipRequestSchema, { ...SCOPE, name, ...(atMs !== undefined && { at: timestampFromMs(atMs) }) }),
      key,
    );
  const pause = (name: string): Promise<ScheduleStatus> =>
    ask(method.pauseSchedule, create(SchedulePauseRequestSchema, { ...SCOPE, name }));
  const resume = (name: string): Promise<ScheduleStatus> =>
    ask(method.resumeSchedule, create(ScheduleResumeRequestSchema, { ...SCOPE, name }));
  /** Appends an event that this release does not know to the stream of a schedule. */
  const park = async (name: string): Promise<void> => {
    const id = randomFillSync(new Uint8Array(16));
    const event = { id, type: 'ScheduleMoved', data: NONE, metadata: '{}' } as never;
    await store.append(scheduleStream({ ...SCOPE, name }), 'any', [event]);
  };
  /** The next fire time of a version of a launch plan, in milliseconds since 1970. */
  const next = async (name: string, version = 'v1'): Promise<number | undefined> => {
    await activations.current();
    return nextFire(activations, { timezone: 'UTC', now })({ ...SCOPE, name, version });
  };
  return {
    next,
    clock,
    activate,
    deactivate,
    setProject,
    fire,
    list,
    park,
    fireNow,
    skip,
    pause,
    resume,
    launched,
    refusing,
  };
};

const minutesOf = (times: ScheduleList['schedules'][number]['next']): readonly number[] =>
  times.map((time) => (timestampDate(time).getTime() - minute(0)) / MINUTE);

/** The minutes of the first ten ticks. */
const FIRST_TEN = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];

describe('the list of schedules', () => {
  it('has each active launch plan with a schedule, its version and its next ten fire times', async () => {
    const plane = openPlane();
    await plane.activate('minutely', '* * * * *');
    await plane.activate('plain', undefined);
    const { schedules } = await plane.list();
    expect(schedules).toHaveLength(1);
    expect(schedules[0]).toMatchObject({
      id: { name: 'minutely', version: 'v1' },
      paused: false,
      open: 0,
      problem: '',
    });
    expect(minutesOf(schedules[0]!.next)).toEqual(FIRST_TEN);
    expect(schedules[0]!.dueSince).toBeUndefined();
  });

  it('has the newest version as soon as it is active', async () => {
    const plane = openPlane();
    await plane.activate('minutely', '* * * * *');
    await plane.activate('minutely', '0 0 * * *', 'v2');
    const [found] = (await plane.list()).schedules;
    expect(found!.id!.version).toBe('v2');
    expect(minutesOf(found!.next).slice(0, 2)).toEqual([24 * 60, 2 * 24 * 60]);
  });

  it('has the outcomes of the last ticks, the newest first', async () => {
    const plane = openPlane();
    await plane.activate('minutely', '* * * * *');
    plane.clock.ms = minute(3) + 1;
    const execution = { ...SCOPE, name: 'launched' };
    await plane.fire('minutely', [
      [minute(1), { kind: 'fired', execution }],
      [minute(2), { kind: 'skipped', reason: 'overlap' }],
      [minute(3), { kind: 'failed', reason: 'missing input' }],
    ]);
    const [found] = (await plane.list()).schedules;
    expect(found!.past).toMatchObject([
      { kind: Kind.FAILED, reason: 'missing input', version: 'v1' },
      { kind: Kind.SKIPPED, reason: 'overlap' },
      { kind: Kind.FIRED, reason: '', execution: { name: 'launched' } },
    ]);
    expect(minutesOf(found!.past.map(({ at }) => at!))).toEqual([3, 2, 1]);
    expect(found).toMatchObject({ fired: 1n, skipped: 1n, failed: 1n, open: 0 });
    expect(found!.dueSince).toBeUndefined();
  });

  it('says since when a tick is due, whether it is decided or not', async () => {
    const plane = openPlane();
    await plane.activate('minutely', '* * * * *');
    plane.clock.ms = minute(4);
    expect(minutesOf([(await plane.list()).schedules[0]!.dueSince!])).toEqual([1]);
    const execution = { ...SCOPE, name: 'launched' };
    await plane.fire('minutely', [[minute(1), { kind: 'fired', execution }], [minute(2)], [minute(3)], [minute(4)]]);
    const [found] = (await plane.list()).schedules;
    expect(found!.open).toBe(3);
    expect(minutesOf([found!.dueSince!])).toEqual([2]);
    expect(minutesOf(found!.next)).toEqual(FIRST_TEN.map((each) => each + 4));
  });

  it('has no fire times for a schedule that is paused, of an archived project, or deactivated', async () => {
    const plane = openPlane();
    await plane.setProject('RegisterProject', ProjectState.ACTIVE);
    for (const name of ['off', 'on', 'paused']) await plane.activate(name, '* * * * *');
    await plane.deactivate('off');
    await plane.pause('paused');
    const states = async () =>
      (await plane.list()).schedules.map(({ id, paused, next }) => [id!.name, id!.version, paused, next.length]);
    expect(await states()).toEqual([
      ['off', '', false, 0],
      ['on', 'v1', false, 10],
      ['paused', 'v1', true, 0],
    ]);
    await plane.setProject('UpdateProject', ProjectState.ARCHIVED);
    expect((await states()).map(([, , , count]) => count)).toEqual([0, 0, 0]);
  });

  it('shows a schedule that cannot be evaluated among the others, and why', async () => {
    const plane = openPlane();
    await plane.activate('bad', 'every now and then');
    await plane.activate('good', '* * * * *');
    const { schedules } = await plane.list();
    expect(schedules.map(({ id, next }) => [id!.name, next.length])).toEqual([
      ['bad', 0],
      ['good', 10],
    ]);
    expect(schedules[0]!.problem).not.toBe('');
  });

  it('says of a schedule that never fires why it does not', async () => {
    const plane = openPlane();
    const rate = { value: 1, unit: 9 as never };
    await plane.activate('rate', create(ScheduleSchema, { ScheduleExpression: { case: 'rate', value: rate } }));
    await plane.activate('february', '0 0 30 2 *');
    await plane.pause('february');
    const { schedules } = await plane.list();
    expect(schedules.map(({ id, problem }) => [id!.name, problem])).toEqual([
      ['february', 'it never fires: no time matches it'],
      ['rate', 'it never fires: its rate has the unknown unit 9'],
    ]);
  });

  it('shows a schedule whose stream cannot be read among the others, and why', async () => {
    const plane = openPlane();
    await plane.activate('good', '* * * * *');
    await plane.activate('parked', '* * * * *');
    await plane.park('parked');
    const { schedules } = await plane.list();
    expect(schedules.map(({ id, parked, next }) => [id!.name, id!.version, parked, next.length])).toEqual([
      ['good', 'v1', false, 10],
      ['parked', 'v1', true, 0],
    ]);
    expect(schedules[1]!.problem).toContain('schedule-p:d:parked is parked');
  });

  it('is read in pages in the order of names, or for one launch plan', async () => {
    const plane = openPlane();
    for (const name of ['c', 'a', 'b']) await plane.activate(name, '* * * * *');
    const names = ({ schedules }: ScheduleList) => schedules.map(({ id }) => id!.name);
    const first = await plane.list({ limit: 2 });
    expect(names(first)).toEqual(['a', 'b']);
    const second = await plane.list({ limit: 2, token: first.token });
    expect(names(second)).toEqual(['c']);
    expect(second.token).toBe('');
    expect(names(await plane.list({ name: 'b' }))).toEqual(['b']);
    expect(names(await plane.list({ domain: 'other' }))).toEqual([]);
  });

  it('is refused without project or domain, and above the largest page', async () => {
    const plane = openPlane();
    const refusal = async (request: MessageInitShape<typeof ScheduleListRequestSchema>) =>
      plane.list(request).catch((error: unknown) => (error as Error).message);
    expect(await refusal({ project: '' })).toBe('missing project');
    expect(await refusal({ domain: '' })).toBe('missing domain');
    expect(await refusal({ limit: 101 })).toBe('invalid value for limit: 101 is above 100');
  });
});

describe('the next fire time of a launch plan', () => {
  it('is that of the active version, after the ticks that are to be skipped', async () => {
    const plane = openPlane();
    await plane.activate('minutely', '* * * * *');
    await plane.activate('plain', undefined);
    expect(await plane.next('minutely')).toBe(minute(1));
    await plane.skip('minutely');
    expect(await plane.next('minutely')).toBe(minute(2));
    expect(await plane.next('minutely', 'v2')).toBeUndefined();
    expect(await plane.next('plain')).toBeUndefined();
    await plane.activate('minutely', '*/10 * * * *', 'v2');
    expect(await plane.next('minutely', 'v2')).toBe(minute(10));
    expect(await plane.next('minutely')).toBeUndefined();
  });

  it('is absent while the schedule is paused and while the project is archived', async () => {
    const plane = openPlane();
    await plane.setProject('RegisterProject', ProjectState.ACTIVE);
    await plane.activate('minutely', '* * * * *');
    await plane.pause('minutely');
    expect(await plane.next('minutely')).toBeUndefined();
    await plane.resume('minutely');
    expect(await plane.next('minutely')).toBe(minute(1));
    await plane.setProject('UpdateProject', ProjectState.ARCHIVED);
    expect(await plane.next('minutely')).toBeUndefined();
  });
});

describe('a tick that is skipped by request', () => {
  it('is the next one that is not skipped already', async () => {
    const plane = openPlane();
    await plane.activate('minutely', '* * * * *');
    expect(minutesOf((await plane.skip('minutely')).skipping)).toEqual([1]);
    const status = await plane.skip('minutely');
    expect(minutesOf(status.skipping)).toEqual([1, 2]);
    expect(minutesOf(status.next)[0]).toBe(3);
  });

  it('is the one at the given time, and one only for requests with the same idempotency key', async () => {
    const plane = openPlane();
    await plane.activate('minutely', '* * * * *');
    await plane.skip('minutely', minute(5));
    expect(minutesOf((await plane.skip('minutely', minute(5))).skipping)).toEqual([5]);
    await plane.skip('minutely', undefined, 'key');
    const status = await plane.skip('minutely', undefined, 'key');
    expect(minutesOf(status.skipping)).toEqual([1, 5]);
    expect(minutesOf(status.next)).toEqual([2, 3, 4, 6, 7, 8, 9, 10, 11, 12]);
  });

  it('must be one that the schedule has, not decided yet, of an active version', async () => {
    const plane = openPlane();
    await plane.activate('minutely', '* * * * *');
    await plane.activate('off', '* * * * *');
    await plane.deactivate('off');
    await plane.fire('minutely', [[minute(1)]]);
    await expect(plane.skip('minutely', minute(1))).rejects.toMatchObject({ code: 'FAILED_PRECONDITION' });
    await expect(plane.skip('minutely', minute(2) + 1)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await expect(plane.skip('off')).rejects.toMatchObject({ code: 'FAILED_PRECONDITION' });
  });

  it('must be after the activation of the active version', async () => {
    const plane = openPlane();
    await plane.activate('minutely', '* * * * *');
    const skipping = plane.skip('minutely', minute(0));
    await expect(skipping).rejects.toMatchObject({ code: 'FAILED_PRECONDITION' });
    await expect(skipping).rejects.toThrow('only after its activation, at 2026-01-01T00:00:30.000Z');
    await plane.fire('minutely', [[minute(1)]]);
    await expect(plane.skip('minutely', minute(0))).rejects.toThrow('only after its activation');
  });

  it('is refused where the schedule, of an older release, cannot be computed', async () => {
    const plane = openPlane();
    await plane.activate('old', '61 * * * *'); // no hour has a minute 61
    const skipping = plane.skip('old');
    await expect(skipping).rejects.toMatchObject({ code: 'FAILED_PRECONDITION' });
    await expect(skipping).rejects.toThrow('p/d/old');
  });

  it('is no longer among those to be skipped when it is decided', async () => {
    const plane = openPlane();
    await plane.activate('minutely', '* * * * *');
    await plane.skip('minutely');
    await plane.skip('minutely', minute(3));
    await plane.fire('minutely', [[minute(2)]]);
    expect(minutesOf((await plane.list()).schedules[0]!.skipping)).toEqual([3]);
  });
});

describe('a schedule that is paused', () => {
  it('has no fire times until it is resumed', async () => {
    const plane = openPlane();
    await plane.activate('minutely', '* * * * *');
    expect(await plane.pause('minutely')).toMatchObject({ paused: true, next: [] });
    plane.clock.ms = minute(3);
    const resumed = await plane.resume('minutely');
    expect(resumed.paused).toBe(false);
    expect(minutesOf(resumed.next)[0]).toBe(4);
  });

  it('stays as it is when it is paused or resumed again', async () => {
    const plane = openPlane();
    await plane.activate('minutely', '* * * * *');
    const head = () => store.head();
    await plane.pause('minutely');
    const paused = await head();
    expect(await plane.pause('minutely')).toMatchObject({ paused: true });
    expect(await head()).toBe(paused);
    await plane.resume('minutely');
    const resumed = await head();
    expect(await plane.resume('minutely')).toMatchObject({ paused: false });
    expect(await head()).toBe(resumed);
  });

  it('must be that of a known launch plan with a schedule', async () => {
    const plane = openPlane();
    await plane.activate('plain', undefined);
    await expect(plane.pause('plain')).rejects.toThrow('launch plan p/d/plain has no schedule');
    await expect(plane.resume('other')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(plane.pause('')).rejects.toThrow('missing name');
  });
});

describe('a schedule that is fired by hand', () => {
  it('launches its active version for the caller at the current second, and keeps its next ticks', async () => {
    const plane = openPlane();
    await plane.activate('minutely', '* * * * *');
    plane.clock.ms = START + 5_400;
    const { tick } = await plane.fireNow('minutely');
    expect(tick).toMatchObject({ kind: Kind.FIRED, version: 'v1' });
    expect(timestampDate(tick!.at!).getTime()).toBe(START + 5_000);
    expect([...plane.launched]).toEqual([[tick!.execution!.name, 'ada']]);
    const [found] = (await plane.list()).schedules;
    expect(found).toMatchObject({ fired: 1n, open: 0, past: [{ execution: { name: tick!.execution!.name } }] });
    expect(minutesOf(found!.next)).toEqual(FIRST_TEN);
  });

  it('launches one execution within a second, and one under an idempotency key', async () => {
    const plane = openPlane();
    await plane.activate('minutely', '* * * * *');
    const first = await plane.fireNow('minutely', 'key');
    expect((await plane.fireNow('minutely')).tick).toEqual(first.tick);
    plane.clock.ms += 10_000;
    expect((await plane.fireNow('minutely', 'key')).tick).toEqual(first.tick);
    expect(plane.launched.size).toBe(1);
    expect((await plane.list()).schedules[0]).toMatchObject({ fired: 1n, open: 0 });
  });

  it('launches one execution for a request with a key that is sent twice at once, in two seconds', async () => {
    const plane = openPlane();
    await plane.activate('minutely', '* * * * *');
    let ms = START;
    Object.defineProperty(plane.clock, 'ms', { get: () => (ms += 1_000) });
    const [first, second] = await Promise.all([plane.fireNow('minutely', 'key'), plane.fireNow('minutely', 'key')]);
    expect(second).toEqual(first);
    expect(plane.launched.size).toBe(1);
    expect((await plane.list()).schedules[0]).toMatchObject({ fired: 1n, open: 0 });
  });

  it.each(['fired', 'skipped'] as const)(
    'gets the same answer under its key, also in the second of a tick that the schedule has %s',
    async (kind) => {
      const plane = openPlane();
      await plane.activate('minutely', '* * * * *');
      plane.clock.ms = minute(1) + 500;
      const execution = { ...SCOPE, name: tickName({ ...SCOPE, name: 'minutely', version: 'v1' }, minute(1)) };
      const outcome = kind === 'fired' ? ({ kind, execution } as const) : ({ kind, reason: 'paused' } as const);
      await plane.fire('minutely', [[minute(1), outcome]]);
      const { tick } = await plane.fireNow('minutely', 'key');
      expect(tick).toMatchObject({ kind: Kind.FIRED, execution });
      expect((await plane.list()).schedules[0]).toMatchObject({ fired: 1n, open: 0 });
      plane.clock.ms += 10_000;
      expect((await plane.fireNow('minutely', 'key')).tick).toEqual(tick);
      expect(plane.launched.size).toBe(kind === 'fired' ? 0 : 1); // a tick that was fired is not launched again
    },
  );

  it('says why no execution was launched, and records the reason', async () => {
    const plane = openPlane();
    await plane.activate('minutely', '* * * * *');
    plane.refusing.outcome = { kind: 'failed', reason: 'missing input' };
    const { tick } = await plane.fireNow('minutely');
    expect(tick).toMatchObject({ kind: Kind.FAILED, reason: 'missing input' });
    expect((await plane.list()).schedules[0]).toMatchObject({ failed: 1n, past: [{ reason: 'missing input' }] });
  });

  it('leaves the tick open when the launch fails', async () => {
    const plane = openPlane();
    await plane.activate('minutely', '* * * * *');
    plane.refusing.outcome = new Error('the log is away');
    await expect(plane.fireNow('minutely')).rejects.toThrow('the log is away');
    expect((await plane.list()).schedules[0]).toMatchObject({ fired: 0n, open: 1 });
  });

  it('launches the execution when the same request is sent again after a launch has failed', async () => {
    const plane = openPlane();
    await plane.activate('minutely', '* * * * *');
    plane.refusing.outcome = new Error('the log is away');
    await expect(plane.fireNow('minutely', 'key')).rejects.toThrow('the log is away');
    delete plane.refusing.outcome;
    plane.clock.ms += 10_000;
    const { tick } = await plane.fireNow('minutely', 'key');
    expect(timestampDate(tick!.at!).getTime()).toBe(START);
    expect((await plane.list()).schedules[0]).toMatchObject({ fired: 1n, open: 0 });
  });

  it('needs an active version', async () => {
    const plane = openPlane();
    await plane.activate('off', '* * * * *');
    await plane.deactivate('off');
    await expect(plane.fireNow('off')).rejects.toMatchObject({ code: 'FAILED_PRECONDITION' });
    await expect(plane.fireNow('other')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});
