import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { create, fromBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { Sort_Direction as Direction } from '../../proto/gen/platformidl/admin/common_pb.js';
import { ExecutionMetadata_ExecutionMode as Mode } from '../../proto/gen/platformidl/admin/execution_pb.js';
import { LaunchPlanCreateRequestSchema, LaunchPlanState } from '../../proto/gen/platformidl/admin/launch_plan_pb.js';
import { CronScheduleSchema } from '../../proto/gen/platformidl/admin/schedule_pb.js';
import { ResourceType } from '../../proto/gen/platformidl/core/identifier_pb.js';
import {
  ScheduleService,
  type ScheduleStatus,
  TickOutcome_Kind as Kind,
} from '../../proto/gen/platformidl/eventlog/schedule_service_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { tickName } from '../../services/schedule/calendar/tick-name.js';
import { flightlog } from '../support/processes/command.js';
import { type ControlPlane, register, startControlPlane } from '../support/processes/control-plane.js';
import { fixtureFolder, withNeeds } from '../support/requests/fixtures.js';
import { type ServerProcess, startServerProcess } from '../support/processes/server-process.js';
import { logDirectory } from '../support/processes/test-log.js';
import { until } from '../support/until.js';

const method = AdminService.method;
const schedules = ScheduleService.method;
/** The offset of an hour, `PT1H`, by which a tick's argument differs from its time. */
const OFFSET_SECONDS = 3_600;
const place = { project: 'flytesnacks', domain: 'development' };

/** The spec of a sample launch plan with a kickoff argument, changed to tick every second with an offset of an hour. */
const everySecond = () => {
  const entry = fixtureFolder('10-schedules').entries.find(
    ({ kind, id }) => kind === 'launch_plan' && id.name === 'schedules.nightly',
  )!;
  const { spec } = fromBinary(LaunchPlanCreateRequestSchema, entry.bytes);
  const value = create(CronScheduleSchema, { schedule: '@every 1s', offset: 'PT1H' });
  const { schedule } = spec!.entityMetadata!;
  Object.assign(schedule!, { ScheduleExpression: { case: 'cronSchedule', value } });
  return spec!;
};

// The tests follow one another: the second deactivates the launch plan `often`, and activates `other`.
describe('a launch plan that ticks every second', () => {
  let plane: ControlPlane;
  beforeAll(async () => {
    plane = await startControlPlane();
    await register(plane.grpc, withNeeds('10-schedules'));
  });
  afterAll(() => plane.close());

  const id = { ...place, name: 'often', version: 'v1' };
  /** The executions that the schedule of `often` has launched, in order. */
  const fired = async () => {
    const filters = `eq(mode,${Mode.SCHEDULED})+eq(launch_plan.name,often)`;
    const sortBy = { key: 'created_at', direction: Direction.ASCENDING };
    return (await plane.grpc.call(method.listExecutions, { id: place, limit: 100, filters, sortBy })).executions;
  };

  it('is launched from its activation on, under the names of its ticks and with their time', async () => {
    await plane.grpc.call(method.createLaunchPlan, {
      id: { resourceType: ResourceType.LAUNCH_PLAN, ...id },
      spec: everySecond(),
    });
    await plane.grpc.call(method.updateLaunchPlan, { id, state: LaunchPlanState.ACTIVE });
    const executions = await until(fired, (found) => found.length >= 2);
    const kickoff = everySecond().entityMetadata!.schedule!.kickoffTimeInputArg;
    for (const { id: execution, spec } of executions) {
      const tick = Number(spec!.metadata!.scheduledAt!.seconds) * 1_000;
      expect(spec!.metadata!.mode).toBe(Mode.SCHEDULED);
      expect(execution!.name).toBe(tickName(id, tick));
      const { fullInputs } = await plane.grpc.call(method.getExecutionData, { id: execution! });
      const literal = fullInputs!.literals[kickoff];
      expect(literal).toMatchObject({
        value: {
          value: { value: { value: { value: { value: { seconds: BigInt(tick / 1_000 + OFFSET_SECONDS) } } } } },
        },
      });
    }
  });

  const schedule = async (name: string) =>
    (await plane.grpc.call(schedules.listSchedules, { ...place, name })).schedules[0]!;

  it('is launched no more when it is deactivated', async () => {
    await plane.grpc.call(method.updateLaunchPlan, { id, state: LaunchPlanState.INACTIVE });
    const deactivatedMs = Date.now();
    const { fired: count } = await until(
      () => schedule(id.name),
      ({ open, dueSince }) => open === 0 && dueSince === undefined,
    );
    const all = await until(fired, ({ length }) => BigInt(length) === count);
    const ticks = all.map(({ spec }) => Number(spec!.metadata!.scheduledAt!.seconds)).toSorted((a, b) => a - b);
    expect(ticks.slice(1).map((tick, index) => tick - ticks[index]!)).toEqual(ticks.slice(1).map(() => 1));
    expect(ticks.at(-1)! * 1_000).toBeLessThanOrEqual(deactivatedMs);
    await plane.grpc.call(method.createLaunchPlan, {
      id: { resourceType: ResourceType.LAUNCH_PLAN, ...id, name: 'other' },
      spec: everySecond(),
    });
    await plane.grpc.call(method.updateLaunchPlan, { id: { ...id, name: 'other' }, state: LaunchPlanState.ACTIVE });
    const others = async () =>
      (await plane.grpc.call(method.listExecutions, { id: place, limit: 10, filters: 'eq(launch_plan.name,other)' }))
        .executions;
    await until(others, (found) => found.length >= 3);
    expect(await fired()).toHaveLength(all.length);
  });

  const other = { ...place, name: 'other' };
  const otherSchedule = () => schedule(other.name);

  it('is listed with its next fire times and its last outcomes, over every transport', async () => {
    for (const way of [plane.grpc, plane.rest, plane.octets]) {
      const [often, found] = (await way.call(schedules.listSchedules, place)).schedules;
      expect(often).toMatchObject({ id: { name: 'often', version: '' }, next: [] });
      expect(found).toMatchObject({ id: { name: 'other', version: 'v1' }, paused: false });
      expect(found!.next).toHaveLength(10);
      expect(found!.past[0]!.kind).toBe(Kind.FIRED);
    }
  });

  it('says when it fires next, and skips a tick by a command', async () => {
    const nextFireAt = async (way: typeof plane.rest) =>
      (await way.call(method.getLaunchPlan, { id: { ...id, name: 'other' } })).closure!.nextFireAt;
    for (const way of [plane.grpc, plane.rest])
      expect(
        await until(
          () => nextFireAt(way),
          (at) => at !== undefined,
        ),
      ).toBeDefined();
    // A command takes seconds to start on a crowded machine, and a tick that is past cannot be skipped.
    const at = new Date(Math.ceil(Date.now() / 1_000 + 15) * 1_000).toISOString();
    const skip = ['schedule', 'skip', 'other', '--at', at, '--server', plane.server().ready.http];
    expect((await flightlog(skip).ended).stdout).toMatch(/^other +v1 +active .*\n {2}skips +\S+Z +v1\n$/u);
    const found = await until(otherSchedule, ({ past }) => past.some(({ reason }) => reason === 'by-hand'));
    expect(found.past.find(({ reason }) => reason === 'by-hand')).toMatchObject({ kind: Kind.SKIPPED, version: 'v1' });
  });

  it('skips its ticks while it is paused, is launched by hand, and ticks again when it is resumed', async () => {
    const server = ['--server', plane.server().ready.http];
    expect((await flightlog(['schedule', 'pause', 'other', ...server]).ended).stdout).toMatch(/^other +v1 +paused /u);
    await until(otherSchedule, ({ past }) => past[0]!.reason === 'paused');
    const { stdout } = await flightlog(['schedule', 'fire', 'other', ...server]).ended;
    const { spec } = await plane.grpc.call(method.getExecution, { id: { ...place, name: stdout.trim() } });
    expect(spec!.metadata!.mode).toBe(Mode.SCHEDULED);
    const listed = (await flightlog(['schedule', 'list', ...server]).ended).stdout;
    expect(listed).toMatch(/^other +v1 +paused +-/mu);
    expect(listed).toMatch(/^ {2}SKIPPED +\S+Z +v1 +paused$/mu);
    await plane.rest.call(schedules.resumeSchedule, other);
    const hasTicked = ({ past: [last, before] }: ScheduleStatus) =>
      last?.kind === Kind.FIRED && before?.kind === Kind.FIRED;
    await until(otherSchedule, hasTicked);
    expect((await flightlog(['schedule', 'next', 'other', ...server]).ended).stdout.trim().split('\n')).toHaveLength(
      10,
    );
    const { stderr } = await flightlog(['schedule', 'next', 'never', ...server]).ended;
    expect(stderr).toContain('/never has no schedule, or was never active');
  });

  it('ticks in a copy of the log only when the copy has taken over', async () => {
    const data = join(mkdtempSync(join(tmpdir(), 'flightlog-copied-')), 'copy');
    await flightlog(['log', 'copy', '--from', logDirectory(plane.directory), '--to', data]).ended;
    const serve = () => startServerProcess({ data, args: ['--event-store', 'embedded:'] });
    const firedBy = async ({ ready }: ServerProcess): Promise<number> => {
      const answer = await fetch(`${ready.http}/api/v1/schedules/flytesnacks/development?name=other`);
      const { schedules: listed } = (await answer.json()) as { readonly schedules: readonly { fired: string }[] };
      return Number(listed[0]!.fired);
    };
    const copy = await serve();
    const { logId } = plane.server().ready;
    const before = await firedBy(copy);
    expect(copy.ready.copyOf).toBe(logId);
    expect(await (await fetch(`${copy.ready.http}/readyz`)).json()).toMatchObject({
      ready: true,
      checks: { 'log-copy': { state: 'degraded', why: expect.stringContaining(`a copy of ${logId}`) as string } },
    });
    const listed = (await flightlog(['reactor', 'list', '--server', copy.ready.http]).ended).stdout;
    expect(listed).toMatch(/^fire-schedules .*\n {2}muted +this log is a copy of /mu);
    await pause(2_500); // at least two ticks
    expect(await firedBy(copy)).toBe(before);
    await copy.stop();
    const taken = await flightlog(['log', 'take-over', '--data', data]).ended;
    expect(JSON.parse(taken.stdout)).toEqual({ logId: copy.ready.logId, copyOf: logId });
    const again = await serve();
    expect(again.ready.copyOf).toBeUndefined();
    await until(
      () => firedBy(again),
      (fired) => fired > before,
    );
    await again.stop();
    rmSync(dirname(data), { recursive: true });
  });
});
