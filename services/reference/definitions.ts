import { create, type DescMessage, fromBinary, type MessageShape, toBinary } from '@bufbuild/protobuf';
import { type LaunchPlanSpec, LaunchPlanSpecSchema } from '../../proto/gen/platformidl/admin/launch_plan_pb.js';
import {
  type CompiledTask,
  CompiledTaskSchema,
  type CompiledWorkflowClosure,
  CompiledWorkflowClosureSchema,
} from '../../proto/gen/platformidl/core/compiler_pb.js';
import type { QualityOfService } from '../../proto/gen/platformidl/core/execution_pb.js';
import { type Identifier, IdentifierSchema } from '../../proto/gen/platformidl/core/identifier_pb.js';
import {
  type ParameterMap,
  ParameterMapSchema,
  type TypedInterface,
  TypedInterfaceSchema,
  type VariableMap,
  VariableMapSchema,
} from '../../proto/gen/platformidl/core/interface_pb.js';
import type { LaunchPlanRegistered } from '../../proto/gen/platformidl/eventlog/launch_plan_pb.js';
import type { WorkflowRegistered } from '../../proto/gen/platformidl/eventlog/workflow_pb.js';
import type { EventCodec } from '../kernel/aggregate.js';
import { decodeEvent } from '../kernel/decode-event.js';
import type { LaunchPlanName, Version } from '../kernel/identifier.js';
import type { EventLog } from '../kernel/ports/event-store.js';
import { bytesOf, type Content, type PayloadStore } from '../kernel/ports/payload-store.js';
import type { Folded } from '../kernel/ports/sessions.js';
import type { StreamName } from '../kernel/stream.js';
import { launchPlanCodec, launchPlanStream } from '../launch-plan/events.js';
import type { LaunchPlanState } from '../launch-plan/state.js';
import { taskCodec, taskStream } from '../task/events.js';
import { workflowCodec, workflowStream } from '../workflow/events.js';
import { immutableCache, type Sized } from './immutable-cache.js';

/**
 * Reads the event of a stream at a revision; `undefined` when there is none.
 *
 * @throws {StreamParked} when the event cannot be decoded.
 */
const recordedAt = async <Event>(
  log: EventLog,
  codec: EventCodec<Event>,
  stream: StreamName,
  revision: bigint,
): Promise<Event | undefined> => {
  for await (const page of log.readStream(stream, { from: revision, limit: 1 })) {
    const [event] = page;
    if (event !== undefined) return decodeEvent(codec, event);
  }
  return undefined;
};

/** A version of a launch plan, as it was registered. */
export type PlanDefinition = RegisteredPlan & {
  /** True when any version of the launch plan, of those in the state that was read, limits concurrency. */
  readonly limitsConcurrency: boolean;
};

type RegisteredPlan = {
  readonly id: Identifier;
  readonly spec: LaunchPlanSpec;
  readonly expectedInputs: ParameterMap;
  readonly expectedOutputs: VariableMap;
  /** The stream and revision of the registration. */
  readonly read: { readonly stream: StreamName; readonly revision: bigint };
};

/** The cached part of a workflow version; the compiled closure may be megabytes and is not cached. */
export type WorkflowDefinition = {
  readonly interface: TypedInterface | undefined;
  readonly qualityOfService: QualityOfService | undefined;
};

type Id = Omit<Version, 'resourceType'>;

/**
 * The registered versions, read from the log; `undefined` for a version that is not registered. The messages are
 * shared: callers must not change them.
 */
export interface RegisteredDefinitions {
  task(id: Id): Promise<CompiledTask | undefined>;
  workflow(id: Id): Promise<WorkflowDefinition | undefined>;
  compiledWorkflow(id: Id): Promise<CompiledWorkflowClosure | undefined>;
  launchPlan(id: Id): Promise<PlanDefinition | undefined>;
  activeLaunchPlan(name: LaunchPlanName): Promise<PlanDefinition | undefined>;
  /** The memory of the cache, in bytes. */
  rememberedBytes(): number;
}

type ReadLaunchPlan = <Answer>(
  stream: StreamName,
  select: (folded: Pick<Folded<LaunchPlanState>, 'state'>) => Answer,
) => Promise<Answer>;

export type DefinitionsOptions = {
  readonly log: EventLog;
  readonly payloads: PayloadStore;
  /** Reads the state at the head of the stream. */
  readonly readLaunchPlan: ReadLaunchPlan;
  /**
   * Reads the state that is already known, without reading the head of the stream; by default the same as
   * `readLaunchPlan`.
   */
  readonly knownLaunchPlan?: ReadLaunchPlan;
  /** The limit of the cache, approximately, in bytes. */
  readonly maxBytes?: number;
};

const MAX_BYTES = 32 * 1024 * 1024;
const FIRST = 0n;
/** A decoded message takes about this many times its encoding, plus `BASE_BYTES`. A test measures it. */
const DECODED = 8;
const BASE_BYTES = 500;
const PLAN_BYTES = 1_000;

const NOTHING: Content = { content: { case: undefined } };

const sizedWorkflow = ({ interface: typed, qualityOfService }: WorkflowRegistered): Sized<WorkflowDefinition> => ({
  value: { interface: typed, qualityOfService },
  bytes: BASE_BYTES + (typed ? DECODED * toBinary(TypedInterfaceSchema, typed).length : 0),
});

/** The requested version, or the active one; `known` is `undefined` when there is none. */
const versionIn = ({ versions, activeVersion, limitsConcurrency }: LaunchPlanState, version: string | undefined) => ({
  known: versions.get(version ?? activeVersion ?? ''),
  limitsConcurrency,
});

const sizedPlan = (
  read: PlanDefinition['read'],
  { id, expectedInputs, expectedOutputs }: LaunchPlanRegistered,
  spec: Sized<LaunchPlanSpec>,
): Sized<RegisteredPlan> => {
  const inputs = expectedInputs ?? create(ParameterMapSchema);
  const outputs = expectedOutputs ?? create(VariableMapSchema);
  const interfaceBytes = toBinary(ParameterMapSchema, inputs).length + toBinary(VariableMapSchema, outputs).length;
  return {
    value: {
      id: id ?? create(IdentifierSchema),
      spec: spec.value,
      expectedInputs: inputs,
      expectedOutputs: outputs,
      read,
    },
    bytes: PLAN_BYTES + spec.bytes + DECODED * interfaceBytes,
  };
};

/**
 * Makes the reader of the registered definitions. Versions never change, so they are cached, except the compiled
 * closures of workflows; which version is active is read from the stream every time.
 */
export const registeredDefinitions = (options: DefinitionsOptions): RegisteredDefinitions => {
  const { log, payloads, readLaunchPlan, knownLaunchPlan = readLaunchPlan } = options;
  const remembered = immutableCache(options.maxBytes ?? MAX_BYTES);

  const decoded = async <Desc extends DescMessage>(
    schema: Desc,
    content: Content | undefined,
  ): Promise<Sized<MessageShape<Desc>>> => {
    const bytes = await bytesOf(content ?? NOTHING, payloads);
    return { value: fromBinary(schema, bytes), bytes: BASE_BYTES + DECODED * bytes.length };
  };

  const plan = async (read: PlanDefinition['read'], data: LaunchPlanRegistered): Promise<Sized<RegisteredPlan>> =>
    sizedPlan(read, data, await decoded(LaunchPlanSpecSchema, data.spec));

  const planAt = async (read: PlanDefinition['read']): Promise<Sized<RegisteredPlan> | undefined> => {
    const event = await recordedAt(log, launchPlanCodec, read.stream, read.revision);
    return event?.type === 'LaunchPlanRegistered' ? plan(read, event.data) : undefined;
  };

  const planOf = async (
    stream: StreamName,
    { known, limitsConcurrency }: ReturnType<typeof versionIn>,
  ): Promise<PlanDefinition | undefined> => {
    if (known === undefined) return undefined;
    const plan = await remembered.get(`${stream}@${known.revision}`, () =>
      planAt({ stream, revision: known.revision }),
    );
    return plan && { ...plan, limitsConcurrency };
  };

  return {
    task: (id) => {
      const stream = taskStream(id);
      return remembered.get(stream, async () => {
        const event = await recordedAt(log, taskCodec, stream, FIRST);
        return event && decoded(CompiledTaskSchema, event.data.compiled);
      });
    },
    workflow: (id) => {
      const stream = workflowStream(id);
      return remembered.get(stream, async () => {
        const event = await recordedAt(log, workflowCodec, stream, FIRST);
        return event && sizedWorkflow(event.data);
      });
    },
    compiledWorkflow: async (id) => {
      const event = await recordedAt(log, workflowCodec, workflowStream(id), FIRST);
      return event && (await decoded(CompiledWorkflowClosureSchema, event.data.compiled)).value;
    },
    launchPlan: async (id) => {
      const stream = launchPlanStream(id);
      const select = ({ state }: { readonly state: LaunchPlanState }) => versionIn(state, id.version);
      const known = await knownLaunchPlan(stream, select);
      return planOf(stream, known.known === undefined ? await readLaunchPlan(stream, select) : known);
    },
    activeLaunchPlan: async (name) => {
      const stream = launchPlanStream(name);
      return planOf(stream, await readLaunchPlan(stream, ({ state }) => versionIn(state, undefined)));
    },
    rememberedBytes: () => remembered.bytes(),
  };
};
