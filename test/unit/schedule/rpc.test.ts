import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import {
  ProjectSchema,
  Project_ProjectState as ProjectState,
} from '../../../proto/gen/platformidl/admin/project_pb.js';
import { ScheduleSchema } from '../../../proto/gen/platformidl/admin/schedule_pb.js';
import { ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import {
  type ScheduleList,
  ScheduleListRequestSchema,
  ScheduleService,
  TickOutcome_Kind as Kind,
} from '../../../proto/gen/platformidl/eventlog/schedule_service_pb.js';
import type { EventStore } from '../../../services/kernel/ports/event-store.js';
import { launchPlanAggregate } from '../../../services/launch-plan/decider.js';
import { launchPlanStream } from '../../../services/launch-plan/events.js';
import { projectAggregate } from '../../../services/project/decider.js';
import { projectStream } from '../../../services/project/events.js';
import { type Activations, followActivations } from '../../../services/reference/activations.js';
import type { DueTick } from '../../../services/schedule/calendar/due.js';
import type { Outcome, ScheduleCommand } from '../../../services/schedule/commands.js';
import { scheduleAggregate } from '../../../services/schedule/decider.js';
import { scheduleStream } from '../../../services/schedule/events.js';
import { scheduleRoutes } from '../../../services/schedule/rpc.js';
import { openSessions } from '../../../services/sessions/sessions.js';
import { sqliteEventStore } from '../../../services/store/log/sqlite-event-store.js';
import { filePayloadStore } from '../../../services/store/payloads/file-payload-store.js';

const MINUTE = 60_000;
const START = Date.parse('2026-01-01T00:00:30Z');
const NONE = new Uint8Array();
const PLACE = { project: 'p', domain: 'd' };
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
    ...PLACE,
    name,
    version,
  });

  const activate = async (name: string, expression: string | undefined, version = 'v1'): Promise<void> => {
    const id = idOf(name, version);
    const spec = { spec: NONE, expectedInputs: NONE, expectedOutputs: NONE, limitsConcurrency: false, digest: NONE };
    const ScheduleExpression = { case: 'cronSchedule', value: { schedule: expression ?? '' } } as const;
    const schedule = expression === undefined ? undefined : create(ScheduleSchema, { ScheduleExpression });
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
    sessions.handle(scheduleAggregate, scheduleStream({ ...PLACE, name }), command, context());
  const setProject = (type: 'RegisterProject' | 'UpdateProject', state: ProjectState) =>
    sessions.handle(
      projectAggregate,
      projectStream(PLACE.project),
      { type, project: create(ProjectSchema, { id: PLACE.project, name: PLACE.project, state }) },
      context(),
    );

  const due = (atMs: number): DueTick => ({ atMs, version: 'v1', principal: 'ada', isMissed: false });
  /** Decides on ticks to be fired, and records an outcome for those that have one. */
  const fire = async (name: string, ticks: readonly (readonly [atMs: number, outcome?: Outcome])[]): Promise<void> => {
    const untilMs = ticks.at(-1)![0];
    const fired = ticks.map(([atMs]) => due(atMs));
    await send(name, { type: 'DecideTicks', due: () => ({ untilMs, fire: fired, skipped: [] }) });
    for (const [atMs, outcome] of ticks)
      if (outcome) await send(name, { type: 'RecordOutcome', tick: { atMs, version: 'v1' }, outcome });
  };

  const routes = scheduleRoutes({ sessions, activations, timezone: 'UTC', now });
  const list = (request: MessageInitShape<typeof ScheduleListRequestSchema> = {}): Promise<ScheduleList> => {
    const { handle } = routes.find(({ method }) => method === ScheduleService.method.listSchedules)!;
    const call = { principal: 'ada', requestId: '', isCancelled: () => false, answeredAt: () => undefined };
    const message = create(ScheduleListRequestSchema, { ...PLACE, ...request });
    return handle(message as never, call) as Promise<ScheduleList>;
  };
  return { clock, activate, deactivate, send, setProject, fire, list };
};

const minutesOf = (times: ScheduleList['schedules'][number]['next']): readonly number[] =>
  times.map((time) => (timestampDate(time).getTime() - minute(0)) / MINUTE);

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

  it('says what became of the last ticks, the newest first', async () => {
    const plane = openPlane();
    await plane.activate('minutely', '* * * * *');
    plane.clock.ms = minute(3) + 1;
    const execution = { ...PLACE, name: 'launched' };
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
    const execution = { ...PLACE, name: 'launched' };
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
    await plane.send('paused', { type: 'PauseSchedule', atMs: START });
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

  it('is read in pages by name, or for one launch plan', async () => {
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

  it('is refused without project and domain, and above the largest page', async () => {
    const plane = openPlane();
    const refusal = async (request: MessageInitShape<typeof ScheduleListRequestSchema>) =>
      plane.list(request).catch((error: unknown) => (error as Error).message);
    expect(await refusal({ project: '' })).toBe('missing project');
    expect(await refusal({ domain: '' })).toBe('missing domain');
    expect(await refusal({ limit: 101 })).toBe('invalid value for limit: 101 is above 100');
  });
});
