import { join } from 'node:path';
import { create, fromBinary } from '@bufbuild/protobuf';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { LaunchPlanCreateRequestSchema, LaunchPlanState } from '../../proto/gen/platformidl/admin/launch_plan_pb.js';
import { CronScheduleSchema, ScheduleSchema } from '../../proto/gen/platformidl/admin/schedule_pb.js';
import { ResourceType } from '../../proto/gen/platformidl/core/identifier_pb.js';
import { ScheduleService } from '../../proto/gen/platformidl/eventlog/schedule_service_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { decodeEvent } from '../../services/kernel/decode-event.js';
import type { RecordedEvent } from '../../services/kernel/event.js';
import { tickName } from '../../services/schedule/calendar/tick-name.js';
import { scheduleCodec, scheduleStream } from '../../services/schedule/events.js';
import { register } from '../support/processes/control-plane.js';
import { fixtureFolder, withNeeds } from '../support/requests/fixtures.js';
import { isOnMongodb } from '../support/servers/mongo-server.js';
import { isSharedFileLocked } from '../support/loads/locked-files.js';
import { type Part, type RoleProcesses, startRoleProcesses } from '../support/processes/roles.js';
import { overGrpc, type Transport } from '../support/clients/transports.js';
import { until } from '../support/until.js';
import { executionStream } from '../../services/kernel/execution-id.js';

/** The number of times that a reactor process is suspended past its lease. */
const TAKEOVERS = Number(process.env['FLIGHTLOG_TEST_TAKEOVERS'] ?? 1);
/** Launch plans that tick every second. */
const PLANS = 20;
const place = { project: 'flytesnacks', domain: 'development' };
const { method } = AdminService;
const LIMIT_MS = 60_000 + TAKEOVERS * 60_000;

let processes: RoleProcesses;
let api: Transport;
beforeAll(async () => {
  processes = await startRoleProcesses(['api', 'projector', 'reactor', 'reactor']);
  api = overGrpc(processes.process('api-1').server().ready);
  await register(api, withNeeds('01-hello'));
}, LIMIT_MS);
afterAll(async () => {
  api.close();
  await processes.close();
});

/** The id of one of the launch plans. */
const idOf = (index: number) => ({ ...place, name: `often-${index}`, version: 'v1' });

/** Registers one of the launch plans, with a schedule that ticks every second, and activates it. */
const activate = async (index: number): Promise<void> => {
  const entry = fixtureFolder('01-hello').entries.find(({ kind }) => kind === 'launch_plan')!;
  const { spec } = fromBinary(LaunchPlanCreateRequestSchema, entry.bytes);
  const value = create(CronScheduleSchema, { schedule: '@every 1s' });
  const ScheduleExpression = { case: 'cronSchedule', value } as const;
  spec!.entityMetadata!.schedule = create(ScheduleSchema, { ScheduleExpression });
  await api.call(method.createLaunchPlan, {
    id: { resourceType: ResourceType.LAUNCH_PLAN, ...idOf(index) },
    spec: spec!,
  });
  await api.call(method.updateLaunchPlan, { id: idOf(index), state: LaunchPlanState.ACTIVE });
};

/** True for the process that fires schedules. */
const fires = async ({ server }: Part): Promise<boolean> => {
  const text = await (await fetch(`${server().ready.http}/metrics`)).text();
  return text.includes('flightlog_reactor_lag_seconds{reactor="fire-schedules"}');
};

/** Suspends a process, at a moment when it has no write locks on files that the others need. */
const suspend = async ({ server }: Part): Promise<void> => {
  server().child.kill('SIGSTOP');
  while (!isOnMongodb && isSharedFileLocked(join(processes.directory, 'data'))) {
    server().child.kill('SIGCONT');
    await fetch(`${server().ready.http}/readyz`);
    server().child.kill('SIGSTOP');
  }
};

/** The schedule of one of the launch plans, as it is listed. */
const status = async (index: number) =>
  (await api.call(ScheduleService.method.listSchedules, { ...place, name: idOf(index).name })).schedules[0]!;
/** The number of ticks of the first launch plan that have fired. */
const fired = async (): Promise<bigint> => (await status(0)).fired;

/** Suspends the reactor that fires schedules until the other reactor fires them, then resumes the suspended one. */
const takeOver = async (): Promise<void> => {
  const reactors = ['reactor-1', 'reactor-2'].map((name) => processes.process(name));
  const holders = await until(
    () => Promise.all(reactors.map(fires)),
    (each) => each.filter((holds) => holds).length === 1,
  );
  const [late, other] = holders[0] === true ? [reactors[0]!, reactors[1]!] : [reactors[1]!, reactors[0]!];
  try {
    await suspend(late);
    await until(
      () => fires(other),
      (holds) => holds,
    );
    const count = await fired();
    await until(fired, (now) => now > count + 2n);
  } finally {
    late.server().child.kill('SIGCONT');
  }
  const count = await fired();
  await until(fired, (now) => now > count + 2n);
};

/** The ticks of one of the launch plans that have fired, in milliseconds since 1970. */
const firedTicks = (events: readonly RecordedEvent[], index: number): readonly number[] => {
  const own = events.filter(({ stream }) => stream === scheduleStream(idOf(index)));
  return own.flatMap((event) => {
    const { type, data } = decodeEvent(scheduleCodec, event);
    if (type !== 'ScheduleTicksDecided') expect(type).toBe('ScheduleTickFired');
    return type === 'ScheduleTickFired' ? [timestampMs(data.at!)] : [];
  });
};

it(
  'no tick is doubled or lost when the reactor that fires schedules is suspended past its lease, and resumed',
  async () => {
    await Promise.all(Array.from({ length: PLANS }, (_, at) => activate(at)));
    await until(fired, (count) => count > 0n);
    for (let round = 0; round < TAKEOVERS; round += 1) await takeOver();
    for (let at = 0; at < PLANS; at += 1)
      await api.call(method.updateLaunchPlan, { id: idOf(at), state: LaunchPlanState.INACTIVE });
    for (let at = 0; at < PLANS; at += 1)
      await until(
        () => status(at),
        ({ open, dueSince }) => open === 0 && dueSince === undefined,
      );
    const events = await processes.events();
    const created = events.filter(({ type }) => type === 'ExecutionCreated').map(({ stream }) => stream);
    const expected: string[] = [];
    for (let at = 0; at < PLANS; at += 1) {
      const ticks = firedTicks(events, at).toSorted((a, b) => a - b);
      expect(ticks.slice(1).map((tick, index) => tick - ticks[index]!)).toEqual(ticks.slice(1).map(() => 1_000));
      expected.push(...ticks.map((tick) => executionStream({ ...place, name: tickName(idOf(at), tick) })));
    }
    expect(created.sort()).toEqual(expected.sort());
  },
  LIMIT_MS,
);
