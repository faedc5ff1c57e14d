import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

import { fromBinary } from '@bufbuild/protobuf';

import {
  LaunchPlanCreateRequestSchema,
  type LaunchPlanSpec,
  LaunchPlanState,
} from '../../proto/gen/platformidl/admin/launch_plan_pb.js';
import { NodeExecution_Phase } from '../../proto/gen/platformidl/core/execution_pb.js';
import { ResourceType } from '../../proto/gen/platformidl/core/identifier_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { fixtureFolder } from '../../test/support/requests/fixtures.js';
import { grpcClient, type GrpcClient } from '../../test/support/clients/grpc-client.js';
import { startServerProcess } from '../../test/support/processes/server-process.js';
import type { Bench } from '../bench.js';
import type { LoadResult } from '../load/load.js';
import { assertAllOk } from '../load/acknowledged.js';
import { writeFrames } from '../load/frames.js';
import { generateLoad } from '../load/processes.js';
import { processorMs } from '../processor-time.js';
import { createRequest, DOMAIN, nodeEvent, PROJECT, registerHello } from '../load/workload.js';

const { method } = AdminService;
const MINUTE_MS = 60_000;
const IN_FLIGHT = 32;
const EVENTS_PER_SECOND = 200;
/** When the reported node events occurred. */
const AT_MS = Date.UTC(2026, 0, 1);
/** Time in seconds in which all plans are to be launched. */
const WITHIN_S = 20;
/** Time in milliseconds that the registration of a plan may take, on a slow machine. */
const REGISTRATION_MS = 12;

/** The launch plan of the sample 01-hello, with a schedule. It may have one, as each of its inputs has a default. */
const scheduledSpec = (schedule: string): LaunchPlanSpec => {
  const entry = fixtureFolder('01-hello').entries.find(({ kind }) => kind === 'launch_plan');
  if (!entry) throw new Error('the sample 01-hello has no launch plan');
  const { spec } = fromBinary(LaunchPlanCreateRequestSchema, entry.bytes);
  const value = { $typeName: 'platformidl.admin.CronSchedule', schedule, offset: '' } as const;
  Object.assign(spec?.entityMetadata ?? {}, {
    schedule: {
      $typeName: 'platformidl.admin.Schedule',
      kickoffTimeInputArg: '',
      ScheduleExpression: { case: 'cronSchedule', value },
    },
  });
  if (!spec) throw new Error('the launch plan of the sample has no spec');
  return spec;
};

/** Registers and activates launch plans that are all due at `dueMs`. */
const activateAll = async (client: GrpcClient, count: number, dueMs: number): Promise<void> => {
  const due = new Date(dueMs);
  const spec = scheduledSpec(`${due.getUTCMinutes()} ${due.getUTCHours()} * * *`);
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) {
      const id = { project: PROJECT, domain: DOMAIN, name: `burst-${next++}`, version: 'v1' };
      await client.call(method.createLaunchPlan, { id: { resourceType: ResourceType.LAUNCH_PLAN, ...id }, spec });
      await client.call(method.updateLaunchPlan, { id, state: LaunchPlanState.ACTIVE });
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
  if (Date.now() > dueMs - 2_000) throw new Error(`${count} launch plans were not registered in time`);
};

/** The ticks with an outcome, from the metrics of the server. */
const ticks = async (http: string, outcome: string): Promise<number> => {
  const text = await (await fetch(`${http}/metrics`)).text();
  return Number(
    new RegExp(`flightlog_schedule_ticks_total\\{outcome="${outcome}"\\} (\\d+)`, 'u').exec(text)?.[1] ?? 0,
  );
};

/** Seconds from `dueMs` until all plans are launched. */
const launchedAfter = async (http: string, count: number, dueMs: number): Promise<number> => {
  while ((await ticks(http, 'fired')) < count) {
    if ((await ticks(http, 'failed')) > 0) throw new Error('a tick could not be launched');
    if (Date.now() > dueMs + 5 * MINUTE_MS) throw new Error('not all ticks were launched within five minutes');
    await pause(250);
  }
  return (Date.now() - dueMs) / 1_000;
};

/** The number of executions with the mode SCHEDULED (1), as the list shows them. */
const scheduledExecutions = async (client: GrpcClient): Promise<number> => {
  let found = 0;
  let token = '';
  do {
    const request = { id: { project: PROJECT, domain: DOMAIN }, limit: 500, token, filters: 'eq(mode,1)' };
    const page = await client.call(method.listExecutions, request);
    found += page.executions.length;
    ({ token } = page);
  } while (token !== '');
  return found;
};

/** Many launch plans are due in the same minute, while engines report: 10,000 of them without `--count`. */
export const scheduleBurst: Bench = {
  name: 'schedule-burst',
  onlyByName: true,
  target: 1,
  run: async ({ disk, count, nodeArgs }) => {
    const plans = Math.ceil(count / 6);
    const data = join(disk.directory, 'schedule-burst');
    const framesFile = join(disk.directory, 'schedule-burst-events');
    const server = await startServerProcess({ data, nodeArgs, env: { FLIGHTLOG_PROJECTS: `["${PROJECT}"]` } });
    const client = grpcClient(server.ready.grpc);
    await registerHello(client);
    const { code } = await client.raw('/flyteidl.service.AdminService/CreateExecution', createRequest('events'));
    if (code !== 'OK') throw new Error(`CreateExecution returned ${code}`);
    const dueMs = Math.ceil((Date.now() + 10_000 + plans * REGISTRATION_MS) / MINUTE_MS) * MINUTE_MS;
    await activateAll(client, plans, dueMs);

    const events = EVENTS_PER_SECOND * Math.max(2, Math.ceil(WITHIN_S * Math.min(1, plans / 10_000)));
    const node = (_: unknown, at: number) => nodeEvent('events', `n${at}`, NodeExecution_Phase.QUEUED, AT_MS);
    writeFrames(framesFile, Array.from({ length: 2 * events }, node));
    const report = (from: number): Promise<LoadResult> =>
      generateLoad({
        ...{ framesFile, from, count: events, inFlight: 16, maxPerSecond: EVENTS_PER_SECOND },
        address: server.ready.grpc,
        path: '/flyteidl.service.AdminService/CreateNodeEvent',
      });
    // For comparison, events before the launches, if there is time: 5 ms for each at this rate, 7 on a slow machine.
    const before = Date.now() + events * 7 < dueMs ? await report(0) : undefined;
    await pause(Math.max(0, dueMs - Date.now() - 500));
    const reporting = report(events);
    const processorBeforeMs = processorMs(server.child.pid ?? 0);
    const seconds = await launchedAfter(server.ready.http, plans, dueMs);
    const processorSeconds = (processorMs(server.child.pid ?? 0) - processorBeforeMs) / 1_000;
    const load = await reporting;
    assertAllOk(load);
    const found = await scheduledExecutions(client);
    if (found !== plans) throw new Error(`${plans} plans were due, and ${found} executions exist`);
    client.close();
    await server.stop();
    return [
      {
        name: `${plans} launch plans due in one minute`,
        perSecond: plans / seconds,
        baseline: { what: `all within ${WITHIN_S} s`, perSecond: plans / WITHIN_S },
        notes: {
          seconds,
          processorSeconds,
          eventsP50Ms: load.p50Ms,
          eventsP99Ms: load.p99Ms,
          eventsP99AloneMs: before?.p99Ms ?? 0, // 0: there was no time to measure it
        },
      },
    ];
  },
};
