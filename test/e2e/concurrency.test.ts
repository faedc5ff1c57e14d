import { rmSync } from 'node:fs';
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
import { workflowReport } from '../support/requests/reports.js';
import type { Answer } from '../support/clients/transports.js';
import { until } from '../support/until.js';

const { method } = AdminService;
const recorded = fromBinary(
  LaunchPlanCreateRequestSchema,
  fixtureFolder('01-hello').entries.find(({ kind }) => kind === 'launch_plan')!.bytes,
);
const PLACE = { project: 'flytesnacks', domain: 'development' };
const NAME = 'hello.one_at_a_time';
const { SKIP, UNSPECIFIED } = {
  SKIP: ConcurrencyLimitBehavior.SKIP,
  UNSPECIFIED: ConcurrencyLimitBehavior.UNSPECIFIED,
};

/** A number that is no behavior. */
const NO_BEHAVIOR = 7;

let plane: ControlPlane;

const plan = (version: string, max: number, behavior: number = SKIP, name = NAME) => ({
  ...recorded,
  id: { ...recorded.id!, name, version },
  spec: {
    ...recorded.spec!,
    concurrencyPolicy: { $typeName: 'platformidl.admin.ConcurrencyPolicy' as const, max, behavior },
  },
});

const launch = (name: string, version = 'one', planName = NAME): Promise<Answer> =>
  plane.grpc.attempt(
    method.createExecution,
    helloRequest(name, ({ spec }) => {
      spec!.launchPlan!.name = planName;
      spec!.launchPlan!.version = version;
    }),
  );

const end = (name: string) =>
  plane.grpc.call(method.createWorkflowEvent, workflowReport({ ...PLACE, name }, { phase: Phase.FAILED }));

/**
 * Waits until all slots are released. The slot of an ended execution is released a little later. If the process is
 * killed before, the next process records the release first, and its fail point counts that event.
 */
const allReleased = async (): Promise<void> => {
  const countOf = (types: readonly string[], type: string) => types.filter((each) => each === type).length;
  await until(
    async () => (await plane.events()).map(({ type }) => type),
    (types) => countOf(types, 'SlotTaken') === countOf(types, 'SlotReleased'),
  );
};

const SKIPPED = {
  code: 'ALREADY_EXISTS',
  message: `concurrency limit (1) reached for launch plan ${NAME}; skipping execution`,
};

beforeAll(async () => {
  plane = await startControlPlane();
  await register(plane.grpc, withNeeds('01-hello'));
  await plane.grpc.call(method.createLaunchPlan, plan('one', 1));
  await plane.grpc.call(method.createLaunchPlan, plan('any', 7, UNSPECIFIED));
});
afterAll(async () => {
  await plane.kill();
  rmSync(plane.directory, { recursive: true });
});

describe('a launch plan whose policy allows one execution at a time', () => {
  it('skips a launch over gRPC and a relaunch over REST until the first execution has ended', async () => {
    expect((await launch('first')).code).toBe('OK');
    expect(await launch('second')).toMatchObject(SKIPPED);
    expect(await plane.rest.attempt(method.relaunchExecution, { id: { ...PLACE, name: 'first' } })).toMatchObject(
      SKIPPED,
    );
    await end('first');
    expect((await launch('second')).code).toBe('OK');
    await end('second');
  });

  it('counts executions of its other versions, whose policy does not limit them', async () => {
    expect((await launch('any-1', 'any')).code).toBe('OK');
    expect((await launch('any-2', 'any')).code).toBe('OK');
    expect(await launch('third')).toMatchObject(SKIPPED);
    await end('any-1');
    await end('any-2');
    expect((await launch('third')).code).toBe('OK');
    expect((await launch('third')).message).toContain('value with matching already exists');
    await end('third');
  });

  it('counts an execution that is being aborted', async () => {
    await launch('aborting');
    await plane.grpc.call(method.terminateExecution, { id: { ...PLACE, name: 'aborting' } });
    expect(await launch('fourth')).toMatchObject(SKIPPED);
    await end('aborting');
  });

  it('starts one of 20 executions that are launched at once', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, (_, at) => launch(`at-once-${at}`)));
    expect(answers.filter(({ code }) => code === 'OK')).toHaveLength(1);
    await end(`at-once-${answers.findIndex(({ code }) => code === 'OK')}`);
  });

  it.each([
    ['has taken the slot', 'after-commit:1', 'NOT_FOUND'],
    ['is about to record the execution', 'before-commit:2', 'NOT_FOUND'],
    ['has recorded the execution', 'after-commit:2', 'OK'],
  ])('has one execution at a time although the process is killed when it %s', async (_, failPoint, found) => {
    const name = `killed-${failPoint.replace(':', '-')}`;
    // The killed process records only this launch: first that the slot is taken, then the execution.
    await allReleased();
    await plane.grpc.call(method.createLaunchPlan, plan('one', 1, SKIP, name));
    await plane.kill();
    plane = await startControlPlane({ FLIGHTLOG_FAIL_POINT: failPoint }, plane.directory);
    const lost = await launch(name, 'one', name).catch(() => undefined);
    expect(lost?.code).not.toBe('OK');
    await plane.kill();
    plane = await startControlPlane({}, plane.directory);
    expect((await plane.grpc.attempt(method.getExecution, { id: { ...PLACE, name } })).code).toBe(found);
    // Whether or not the execution was recorded, its slot is taken, so another one is refused.
    expect(await launch(`${name}-other`, 'one', name)).toMatchObject({ code: 'ALREADY_EXISTS' });
    const again = await launch(name, 'one', name);
    expect(again.code).toBe(found === 'OK' ? 'ALREADY_EXISTS' : 'OK');
    expect(await launch(`${name}-other`, 'one', name)).toMatchObject({ code: 'ALREADY_EXISTS' });
    await end(name);
    expect((await launch(`${name}-other`, 'one', name)).code).toBe('OK');
    await end(`${name}-other`);
  });
});

describe('a concurrency policy', () => {
  // A slot that is released during these tests would change the log.
  beforeAll(() => allReleased());

  it.each([
    ['max', plan('zero', 0)],
    ['max', plan('negative', -1, UNSPECIFIED)],
    ['behavior', plan('unknown', 1, NO_BEHAVIOR)],
  ])('with an invalid %s is INVALID_ARGUMENT', async (field, request) => {
    const answer = await plane.unchanged(() => plane.grpc.attempt(method.createLaunchPlan, request));
    expect(answer).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining(`concurrency_policy.${field}`) as string,
    });
  });
});
