import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { launchPlans } from '../../../projections/launch-plans/projection.js';
import { launchPlansRoutes } from '../../../projections/launch-plans/rpc.js';
import { Sort_Direction } from '../../../proto/gen/platformidl/admin/common_pb.js';
import {
  LaunchPlanSchema,
  LaunchPlanSpecSchema,
  LaunchPlanState,
} from '../../../proto/gen/platformidl/admin/launch_plan_pb.js';
import { ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import {
  LaunchPlanActivatedSchema,
  LaunchPlanDeactivatedSchema,
  LaunchPlanRegisteredSchema,
} from '../../../proto/gen/platformidl/eventlog/launch_plan_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import type { RecordedEvent } from '../../../services/kernel/event.js';
import { launchPlanCodec, type LaunchPlanEvent, launchPlanStream } from '../../../services/launch-plan/events.js';
import { documentsAfter, openReads, recordedAtMs } from '../../support/views/run-views.js';

const { ACTIVE, INACTIVE } = LaunchPlanState;
const { method } = AdminService;
const scope = { project: 'flytesnacks', domain: 'development' };
const idOf = (name: string, version: string) => ({ resourceType: ResourceType.LAUNCH_PLAN, ...scope, name, version });

type Spec = MessageInitShape<typeof LaunchPlanSpecSchema>;

const registered = (name: string, version: string, spec: Spec = {}): LaunchPlanEvent => ({
  type: 'LaunchPlanRegistered',
  data: create(LaunchPlanRegisteredSchema, {
    id: idOf(name, version),
    spec: {
      content: { case: 'inline', value: toBinary(LaunchPlanSpecSchema, create(LaunchPlanSpecSchema, spec)) },
    },
    expectedInputs: { parameters: { day: {} } },
  }),
});

const activated = (name: string, version: string, deactivatedVersion = ''): LaunchPlanEvent => ({
  type: 'LaunchPlanActivated',
  data: create(LaunchPlanActivatedSchema, { id: idOf(name, version), deactivatedVersion }),
});

const deactivated = (name: string, version: string): LaunchPlanEvent => ({
  type: 'LaunchPlanDeactivated',
  data: create(LaunchPlanDeactivatedSchema, { id: idOf(name, version) }),
});

/** The events as a log has them, at positions from 1 on. */
const recorded = (...events: readonly LaunchPlanEvent[]): readonly RecordedEvent[] =>
  events.map((event, index) => ({
    id: new Uint8Array(16),
    ...launchPlanCodec.encode(event),
    metadata: '{}',
    stream: launchPlanStream(event.data.id!),
    revision: BigInt(index),
    position: BigInt(index + 1),
  }));

/** The state of each version, in the order of registration. */
const statesAfter = (...events: readonly LaunchPlanEvent[]) =>
  [...documentsAfter(launchPlans, recorded(...events), 1).values()].map(({ fields }) => fields['state']);

describe('a launch plan', () => {
  const two = [registered('daily', 'v1'), registered('daily', 'v2')];

  it('is inactive once registered', () => {
    expect(statesAfter(...two)).toEqual([INACTIVE, INACTIVE]);
  });

  it('that becomes active takes the place of the version that was active', () => {
    expect(statesAfter(...two, activated('daily', 'v1'))).toEqual([ACTIVE, INACTIVE]);
    expect(statesAfter(...two, activated('daily', 'v1'), activated('daily', 'v2', 'v1'))).toEqual([INACTIVE, ACTIVE]);
  });

  it('is updated by its deactivation, not by its activation', () => {
    const events = [registered('daily', 'v1'), activated('daily', 'v1')];
    const updated = (...more: readonly LaunchPlanEvent[]): number => {
      const [document] = [...documentsAfter(launchPlans, recorded(...events, ...more)).values()];
      return timestampMs(fromBinary(LaunchPlanSchema, document!.response).closure!.updatedAt!);
    };
    expect(updated()).toBe(recordedAtMs(1n));
    expect(updated(deactivated('daily', 'v1'))).toBe(recordedAtMs(3n));
  });

  it.each([
    ['NONE', undefined],
    ['NONE', { case: 'rate', value: { value: 0 } }],
    ['RATE', { case: 'rate', value: { value: 5 } }],
    ['NONE', { case: 'cronSchedule', value: { schedule: '' } }],
    ['CRON', { case: 'cronSchedule', value: { schedule: '@daily' } }],
    ['CRON', { case: 'cronExpression', value: '0 * * * *' }],
  ] as const)('has the schedule type %s with %j', (type, expression) => {
    const schedule = expression && ({ ScheduleExpression: expression } as const);
    const events = recorded(registered('daily', 'v1', { entityMetadata: { ...(schedule && { schedule }) } }));
    const [document] = [...documentsAfter(launchPlans, events).values()];
    expect(document!.fields['schedule_type']).toBe(type);
  });
});

/** The time at which the active version fires next. */
const NEXT_MS = Date.parse('2026-01-01T00:01:00Z');

describe('reads of launch plans', () => {
  let reads: Awaited<ReturnType<typeof openReads>>;
  beforeAll(async () => {
    const events = recorded(
      registered('daily', 'v9'),
      registered('daily', 'v10', { role: 'reader' }),
      registered('hourly', 'v1'),
      activated('daily', 'v9'),
      activated('daily', 'v10', 'v9'),
    );
    const nextFire = ({ version }: { readonly version: string }) => (version === 'v10' ? NEXT_MS : undefined);
    reads = await openReads(events, (each) => launchPlansRoutes({ ...each, nextFire }));
  });
  afterAll(() => reads.close());

  it('answer a version, whose resource type may be left out', async () => {
    const plan = await reads.ask(method.getLaunchPlan, { id: { ...scope, name: 'daily', version: 'v10' } });
    expect(plan).toMatchObject({ spec: { role: 'reader' }, closure: { expectedInputs: { parameters: { day: {} } } } });
  });

  it('answer the active version of a name', async () => {
    const active = await reads.ask(method.getActiveLaunchPlan, { id: { ...scope, name: 'daily' } });
    expect(active).toMatchObject({ id: idOf('daily', 'v10'), closure: { state: ACTIVE } });
    await expect(reads.ask(method.getActiveLaunchPlan, { id: { ...scope, name: 'hourly' } })).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: 'No active launch plan could be found: flytesnacks:development:hourly',
    });
  });

  it('say when an active version fires next, and keep the rest of its closure', async () => {
    const daily = { ...scope, name: 'daily' };
    const got = await reads.ask(method.getLaunchPlan, { id: { ...daily, version: 'v10' } });
    const active = await reads.ask(method.getActiveLaunchPlan, { id: daily });
    const { launchPlans: listed } = await reads.ask(method.listLaunchPlans, { id: daily, limit: 10 });
    const [listedActive] = (await reads.ask(method.listActiveLaunchPlans, scope)).launchPlans;
    for (const plan of [got, active, listedActive!, listed.find(({ id }) => id!.version === 'v10')!]) {
      expect(plan.closure).toMatchObject({ state: ACTIVE, expectedInputs: { parameters: { day: {} } } });
      expect(timestampMs(plan.closure!.nextFireAt!)).toBe(NEXT_MS);
    }
    expect(listed.find(({ id }) => id!.version === 'v9')!.closure!.nextFireAt).toBeUndefined();
  });

  it('list the active versions', async () => {
    const { launchPlans: active } = await reads.ask(method.listActiveLaunchPlans, scope);
    expect(active.map(({ id }) => id!.version)).toEqual(['v10']);
  });

  it('find the newest version by the time of its registration', async () => {
    const sortBy = { key: 'created_at', direction: Sort_Direction.DESCENDING };
    const request = { id: { ...scope, name: 'daily' }, limit: 1, sortBy };
    const { launchPlans: newest } = await reads.ask(method.listLaunchPlans, request);
    expect(newest.map(({ id }) => id!.version)).toEqual(['v10']);
  });

  it('list every name once, and honour filters', async () => {
    const names = async (filters: string) =>
      (await reads.ask(method.listLaunchPlanIds, { ...scope, filters })).entities.map(({ name }) => name);
    expect(await names('')).toEqual(['daily', 'hourly']);
    expect(await names('eq(name,hourly)')).toEqual(['hourly']);
  });

  it.each([
    ['getLaunchPlan', {}, 'missing id'],
    ['getLaunchPlan', { id: { resourceType: ResourceType.LAUNCH_PLAN, ...scope, name: 'daily' } }, 'missing version'],
    ['getActiveLaunchPlan', {}, 'missing id'],
    ['getActiveLaunchPlan', { id: scope }, 'missing name'],
    ['listActiveLaunchPlans', { project: 'p' }, 'missing domain'],
    ['listLaunchPlans', {}, 'missing id'],
    ['listLaunchPlanIds', { domain: 'd' }, 'missing project'],
  ] as const)('refuse %s of %j: %s', async (name, request, message) => {
    await expect(reads.ask(method[name] as never, request as never)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message,
    });
  });
});
