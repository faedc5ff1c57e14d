import { randomBytes } from 'node:crypto';
import { fromBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { MatchableResource } from '../../proto/gen/platformidl/admin/matchable_resource_pb.js';
import {
  ConcurrencyLimitBehavior,
  LaunchPlanCreateRequestSchema,
} from '../../proto/gen/platformidl/admin/launch_plan_pb.js';
import { WorkflowExecution_Phase as Phase } from '../../proto/gen/platformidl/core/execution_pb.js';
import { ResourceType } from '../../proto/gen/platformidl/core/identifier_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import type { StreamName } from '../../services/kernel/stream.js';
import { eventstoreEventStore } from '../../services/store/eventstore/eventstore-event-store.js';
import { register } from '../support/control-plane.js';
import { fixtureFolder, withNeeds } from '../support/fixtures.js';
import { readiness } from '../support/health.js';
import { helloRequest, launchHello } from '../support/hello.js';
import { workflowReport } from '../support/reports.js';
import type { Answer, Transport } from '../support/transports.js';
import { startTwoProcesses, type TwoProcesses } from '../support/two-processes.js';
import { until } from '../support/until.js';

const { method } = AdminService;
const LIMIT_MS = 120_000;
const KINDS = ['unknown', 'corrupt'] as const;
type Kind = (typeof KINDS)[number];

/** An event of each category that a release may meet: of a type that it does not know, or with bytes of another. */
const TYPES = {
  project: 'ProjectUpdated',
  attributes: 'AttributesUpdated',
  launchPlanSlots: 'SlotTaken',
  execution: 'TerminationRequested',
  launchPlan: 'LaunchPlanActivated',
  namedEntity: 'NamedEntityUpdated',
};
type Category = keyof typeof TYPES;

let two: TwoProcesses;
/** Where each stream is parked. */
const positions = new Map<string, bigint>();

const idOf = (name: string) => ({ project: 'flytesnacks', domain: 'development', name });
const limited = (kind: Kind): string => `hello.limited-${kind}`;
const streamOf = (category: Category, kind: Kind): string =>
  ({
    project: `project-closed-${kind}`,
    attributes: `attributes-attributed-${kind}`,
    launchPlanSlots: `launchPlanSlots-flytesnacks:development:${limited(kind)}`,
    execution: `execution-flytesnacks:development:run-${kind}`,
    launchPlan: `launchPlan-flytesnacks:development:hello.other-${kind}`,
    namedEntity: `namedEntity-flytesnacks:development:LAUNCH_PLAN:hello.other-${kind}`,
  })[category];

const plan = (name: string, max = 0) => {
  const recorded = fromBinary(
    LaunchPlanCreateRequestSchema,
    fixtureFolder('01-hello').entries.find(({ kind }) => kind === 'launch_plan')!.bytes,
  );
  const policy = { max, behavior: ConcurrencyLimitBehavior.SKIP };
  const spec = {
    ...recorded.spec!,
    ...(max > 0 && { concurrencyPolicy: { $typeName: 'platformidl.admin.ConcurrencyPolicy' as const, ...policy } }),
  };
  return { ...recorded, id: { ...recorded.id!, name }, spec };
};

const launchOf = (way: Transport, name: string, planName: string): Promise<Answer> =>
  way.refused(
    method.createExecution,
    helloRequest(name, ({ spec }) => (spec!.launchPlan!.name = planName)),
  );

/** Writes what no release has written to the end of every kind of stream. */
const poison = async (): Promise<void> => {
  const log = await eventstoreEventStore({ url: `esdb://${two.log.address}?tls=false` });
  const metadata = JSON.stringify({ recordedAtMs: 1, actor: '', commandId: '', schema: 1 });
  for (const kind of KINDS)
    for (const category of Object.keys(TYPES) as Category[]) {
      const type = kind === 'unknown' ? 'OfANewerRelease' : TYPES[category];
      const event = { id: randomBytes(16), type, data: Uint8Array.of(0xff, 0xff, 0xff), metadata };
      const stream = streamOf(category, kind);
      positions.set(stream, (await log.append(stream as StreamName, 'any', [event])).position);
    }
  await log.close();
};

beforeAll(async () => {
  const projects = KINDS.flatMap((kind) => [`closed-${kind}`, `attributed-${kind}`]);
  two = await startTwoProcesses({ env: { FLIGHTLOG_PROJECTS: JSON.stringify(['flytesnacks', ...projects]) } });
  const [first] = two.members;
  await register(first.api(), withNeeds('01-hello'));
  for (const kind of KINDS) {
    await first.api().call(method.createLaunchPlan, plan(limited(kind), 1));
    await first.api().call(method.createLaunchPlan, plan(`hello.other-${kind}`));
    await launchHello(first.api(), `run-${kind}`);
    await launchOf(first.api(), `held-${kind}`, limited(kind));
  }
  await poison();
  await two.members[0].kill();
  await two.members[0].start();
}, LIMIT_MS);
afterAll(() => two.close(), LIMIT_MS);

/** What needs each stream. */
const ASKED: Readonly<Record<Category, (way: Transport, kind: Kind) => Promise<Answer>>> = {
  project: (way, kind) =>
    way.refused(
      method.createExecution,
      helloRequest(`in-closed-${kind}`, (request) => (request.project = `closed-${kind}`)),
    ),
  attributes: (way, kind) =>
    way.refused(
      method.createExecution,
      helloRequest(`in-attributed-${kind}`, (request) => (request.project = `attributed-${kind}`)),
    ),
  launchPlanSlots: (way, kind) => launchOf(way, `too-many-${kind}`, limited(kind)),
  execution: (way, kind) =>
    way.refused(method.createWorkflowEvent, workflowReport(idOf(`run-${kind}`), { phase: Phase.RUNNING })),
  launchPlan: (way, kind) => launchOf(way, `of-other-${kind}`, `hello.other-${kind}`),
  namedEntity: (way, kind) =>
    way.refused(method.updateNamedEntity, {
      resourceType: ResourceType.LAUNCH_PLAN,
      id: { project: 'flytesnacks', domain: 'development', name: `hello.other-${kind}` },
      metadata: { description: 'new' },
    }),
};

describe.each([
  ['was started on them', 0],
  ['met them while it ran', 1],
] as const)('a process that %s, of streams with an event that it cannot read', (_, at) => {
  const way = (): Transport => two.members[at].api();

  it.each(KINDS.flatMap((kind) => (Object.keys(TYPES) as Category[]).map((category) => [kind, category] as const)))(
    'answers UNAVAILABLE with the stream and the position (%s, %s)',
    async (kind, category) => {
      const stream = streamOf(category, kind);
      const parked = `stream ${stream} is parked at position ${positions.get(stream)}`;
      const answer = await until(
        () => ASKED[category](way(), kind),
        ({ code }) => code === 'UNAVAILABLE',
      );
      expect(answer.message).toContain(parked);
    },
  );

  it('answers UNAVAILABLE to who asks for the attributes themselves', async () => {
    const answer = await way().refused(method.getProjectAttributes, {
      project: 'attributed-corrupt',
      resourceType: MatchableResource.TASK_RESOURCE,
    });
    expect(answer).toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining('attributes-attributed-corrupt') as string,
    });
  });

  it('does everything else, and gives back slots', async () => {
    const name = `goes-on-${at}`;
    await way().call(method.createLaunchPlan, plan(`hello.one-${at}`, 1));
    expect((await launchOf(way(), name, `hello.one-${at}`)).code).toBe('OK');
    await way().call(method.createWorkflowEvent, workflowReport(idOf(name), { phase: Phase.FAILED }));
    const slots = async () =>
      (await two.events()).filter(({ stream }) => stream.endsWith(`hello.one-${at}`)).map(({ type }) => type);
    await until(slots, (types) => types.includes('SlotReleased'));
  });

  it('is ready, and says which streams are parked', async () => {
    const { ready, checks } = await readiness(two.members[at].server().ready.http);
    expect(ready).toBe(true);
    expect(checks['parked']).toMatchObject({
      state: 'degraded',
      why: expect.stringMatching(/streams that this process cannot read: [1-9]/u) as string,
    });
  });
});
