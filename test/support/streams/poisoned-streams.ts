import { randomBytes } from 'node:crypto';
import { fromBinary } from '@bufbuild/protobuf';
import {
  ConcurrencyLimitBehavior,
  LaunchPlanCreateRequestSchema,
} from '../../../proto/gen/platformidl/admin/launch_plan_pb.js';
import { WorkflowExecution_Phase as Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import { ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import type { StreamName } from '../../../services/kernel/stream.js';
import { eventstoreEventStore } from '../../../services/store/eventstore/eventstore-event-store.js';
import { register } from '../processes/control-plane.js';
import { fixtureFolder, withNeeds } from '../requests/fixtures.js';
import { helloRequest, launchHello } from '../requests/hello.js';
import { workflowReport } from '../requests/reports.js';
import type { Answer, Transport } from '../clients/transports.js';

const { method } = AdminService;

/** The kinds of poison events: of a type that the release does not know, or with bytes that cannot be decoded. */
export const KINDS = ['unknown', 'corrupt'] as const;
export type Kind = (typeof KINDS)[number];

/** A known type of event for each category, whose bytes are made corrupt. */
const TYPES = {
  project: 'ProjectUpdated',
  attributes: 'AttributesUpdated',
  launchPlanSlots: 'SlotTaken',
  execution: 'TerminationRequested',
  launchPlan: 'LaunchPlanActivated',
  namedEntity: 'NamedEntityUpdated',
};
/** A category of streams that get poison events. */
export type Category = keyof typeof TYPES;
/** All categories of streams that get poison events. */
export const CATEGORIES = Object.keys(TYPES) as readonly Category[];

/** The setting `projects` of a control plane whose streams are poisoned, as an environment variable. */
export const PROJECTS = JSON.stringify([
  'flytesnacks',
  ...KINDS.flatMap((kind) => [`closed-${kind}`, `attributed-${kind}`]),
]);

/** The launch plan whose concurrency limit is 1, and whose one slot is taken. */
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

/** The launch plan of `01-hello` under another name, with a limit of executions unless it is 0. */
export const plan = (name: string, max = 0) => {
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

/** Bytes that no message is encoded as. */
const UNDECODABLE = Uint8Array.of(0xff, 0xff, 0xff);

/** Launches a launch plan of this name; the launch may be refused. */
export const launchOf = (transport: Transport, name: string, planName: string): Promise<Answer> =>
  transport.attempt(
    method.createExecution,
    helloRequest(name, ({ spec }) => (spec!.launchPlan!.name = planName)),
  );

/** Registers and launches the entities of the streams. */
export const fillStreams = async (transport: Transport): Promise<void> => {
  await register(transport, withNeeds('01-hello'));
  for (const kind of KINDS) {
    await transport.call(method.createLaunchPlan, plan(limited(kind), 1));
    await transport.call(method.createLaunchPlan, plan(`hello.other-${kind}`));
    await launchHello(transport, `run-${kind}`);
    await launchOf(transport, `held-${kind}`, limited(kind));
  }
};

/** The text that an answer about a parked stream contains. */
export type ParkedText = (category: Category, kind: Kind) => string;

/** Appends a poison event to the stream of each category and kind, in the log at an address. */
export const poison = async (address: string): Promise<ParkedText> => {
  const texts = new Map<string, string>();
  const log = await eventstoreEventStore({ url: `esdb://${address}?tls=false` });
  const metadata = JSON.stringify({ recordedAtMs: 1, actor: '', commandId: '', schema: 1 });
  for (const kind of KINDS)
    for (const category of CATEGORIES) {
      const type = kind === 'unknown' ? 'OfANewerRelease' : TYPES[category];
      const event = { id: randomBytes(16), type, data: UNDECODABLE, metadata };
      const stream = streamOf(category, kind);
      const { position } = await log.append(stream as StreamName, 'any', [event]);
      texts.set(stream, `stream ${stream} is parked at position ${position}`);
    }
  await log.close();
  return (category, kind) => texts.get(streamOf(category, kind)) ?? `${streamOf(category, kind)} was not poisoned`;
};

const launchIn = (transport: Transport, project: string): Promise<Answer> =>
  transport.attempt(
    method.createExecution,
    helloRequest(`in-${project}`, (request) => (request.project = project)),
  );

const executionId = (name: string) => ({ project: 'flytesnacks', domain: 'development', name });

/** Sends a request that needs the parked stream. */
export const ASKED: Readonly<Record<Category, (transport: Transport, kind: Kind) => Promise<Answer>>> = {
  project: (transport, kind) => launchIn(transport, `closed-${kind}`),
  attributes: (transport, kind) => launchIn(transport, `attributed-${kind}`),
  launchPlanSlots: (transport, kind) => launchOf(transport, `too-many-${kind}`, limited(kind)),
  execution: (transport, kind) =>
    transport.attempt(method.createWorkflowEvent, workflowReport(executionId(`run-${kind}`), { phase: Phase.RUNNING })),
  launchPlan: (transport, kind) => launchOf(transport, `of-other-${kind}`, `hello.other-${kind}`),
  namedEntity: (transport, kind) =>
    transport.attempt(method.updateNamedEntity, {
      resourceType: ResourceType.LAUNCH_PLAN,
      id: executionId(`hello.other-${kind}`),
      metadata: { description: 'new' },
    }),
};
