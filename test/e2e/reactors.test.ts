import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fromBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import {
  ConcurrencyLimitBehavior,
  LaunchPlanCreateRequestSchema,
} from '../../proto/gen/platformidl/admin/launch_plan_pb.js';
import { WorkflowExecution_Phase as Phase } from '../../proto/gen/platformidl/core/execution_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { type ControlPlane, register, startControlPlane } from '../support/processes/control-plane.js';
import { fixtureFolder, withNeeds } from '../support/requests/fixtures.js';
import { helloRequest } from '../support/requests/hello.js';
import { areApart } from '../support/processes/processes-apart.js';
import { workflowReport } from '../support/requests/reports.js';
import { until } from '../support/until.js';

const { method } = AdminService;
/** A launch plan of which one execution runs at a time. */
const NAME = 'hello.one_at_a_time';
const recordedPlan = fromBinary(
  LaunchPlanCreateRequestSchema,
  fixtureFolder('01-hello').entries.find(({ kind }) => kind === 'launch_plan')!.bytes,
);

const registerPlan = (plane: ControlPlane) =>
  plane.grpc.call(method.createLaunchPlan, {
    ...recordedPlan,
    id: { ...recordedPlan.id!, name: NAME, version: 'one' },
    spec: {
      ...recordedPlan.spec!,
      concurrencyPolicy: {
        $typeName: 'platformidl.admin.ConcurrencyPolicy',
        max: 1,
        behavior: ConcurrencyLimitBehavior.SKIP,
      },
    },
  });

const idOf = (name: string) => ({ project: 'flytesnacks', domain: 'development', name });

const launch = (plane: ControlPlane, name: string) =>
  plane.grpc.attempt(
    method.createExecution,
    helloRequest(name, ({ spec }) => {
      spec!.launchPlan!.name = NAME;
      spec!.launchPlan!.version = 'one';
    }),
  );

const end = (plane: ControlPlane, name: string) =>
  plane.grpc.attempt(method.createWorkflowEvent, workflowReport(idOf(name), { phase: Phase.FAILED }));

/** The types of the events of the launch plan's slots. */
const slots = async (plane: ControlPlane): Promise<readonly string[]> =>
  (await plane.events()).filter(({ stream }) => stream.startsWith('launchPlanSlots-')).map(({ type }) => type);

const hasEnded = (plane: ControlPlane): boolean =>
  plane.server().child.exitCode !== null || plane.server().child.signalCode !== null;

// The n-th commit is a given step of an execution only where one process makes all commits.
describe.skipIf(areApart)('a process that is killed between two steps of an execution with a slot', () => {
  const directory = mkdtempSync(join(tmpdir(), 'flightlog-reactors-'));
  afterAll(() => rmSync(directory, { recursive: true }));

  beforeAll(async () => {
    const plane = await startControlPlane({}, directory);
    await register(plane.grpc, withNeeds('01-hello'));
    await registerPlan(plane);
    await plane.server().stop();
  });

  // One commit each: the slot is taken, the execution is created, it ends, the slot is released.
  // A kill after one commit leaves the same log as a kill before the next.
  const points = ['before-commit:1', ...[1, 2, 3, 4].map((nth) => `after-commit:${nth}`)];

  it.each(points)('takes and releases the slot once, killed at %s', async (point) => {
    const name = point.replace(':', '-');
    const dying = await startControlPlane({ FLIGHTLOG_FAIL_POINT: point }, directory);
    const before = (await slots(dying)).length;
    await launch(dying, name).catch(() => undefined);
    if (!hasEnded(dying)) await end(dying, name).catch(() => undefined);
    await until(() => Promise.resolve(hasEnded(dying)), Boolean);

    const plane = await startControlPlane({}, directory);
    const again = await launch(plane, name);
    expect(['OK', 'ALREADY_EXISTS']).toContain(again.code);
    await end(plane, name);
    await until(
      () => slots(plane),
      (all) => all.at(-1) === 'SlotReleased',
    );
    expect((await slots(plane)).slice(before)).toEqual(['SlotTaken', 'SlotReleased']);
    await plane.server().stop();
  });
});

describe('an execution that takes longer than the configuration allows', () => {
  let plane: ControlPlane;
  beforeAll(async () => {
    plane = await startControlPlane({ FLIGHTLOG_EXECUTION_TIMEOUT: '1ms', FLIGHTLOG_ABORT_TIMEOUT: '1ms' });
    await register(plane.grpc, withNeeds('01-hello'));
  });
  afterAll(() => plane.close());

  it('is recorded TIMED_OUT, saying which limit it was, when no engine answers', async () => {
    await plane.grpc.call(method.createExecution, helloRequest('too-long'));
    const request = { id: idOf('too-long') };
    const get = async () => (await plane.grpc.call(method.getExecution, request)).closure!;
    await until(get, ({ phase }) => phase === Phase.TIMED_OUT);
    expect((await get()).outputResult).toMatchObject({
      case: 'abortMetadata',
      value: { cause: expect.stringContaining('execution.timeout of 0.001 s is over') as string },
    });
  });
});
