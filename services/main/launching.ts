import { randomBytes, randomUUID } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import type { CompiledTask } from '../../proto/gen/platformidl/core/compiler_pb.js';
import { IdentifierSchema } from '../../proto/gen/platformidl/core/identifier_pb.js';
import type { Configuration } from '../config/configuration.js';
import type { ExecutionAggregate } from '../execution/aggregate.js';
import type { RelaunchServices } from '../execution/launch/relaunch.js';
import type { LargeLaunches, Slots } from '../execution/ports.js';
import type { ExecutionServices } from '../execution/rpc.js';
import type { EventStore } from '../kernel/ports/event-store.js';
import type { PayloadStore } from '../kernel/ports/payload-store.js';
import type { Acknowledged, Sessions } from '../kernel/ports/sessions.js';
import type { ParkedStreams } from '../kernel/log-readers/parked-streams.js';
import { launchPlanAggregate } from '../launch-plan/decider.js';
import { registerSingleTaskPlan } from '../launch-plan/registration/single-task.js';
import { type Activations, followActivations } from '../reference/activations.js';
import { type RegisteredDefinitions, registeredDefinitions } from '../reference/definitions.js';
import { launchAttributes } from '../reference/launch-attributes.js';
import { registerSingleTaskWorkflow } from '../workflow/registration/single-task.js';
import { platformOf } from './platform.js';
import { openReference, type Reference } from './reference.js';

/** The services that launching needs. */
export type LaunchingParts = {
  readonly configuration: Configuration;
  readonly store: EventStore;
  readonly payloads: PayloadStore;
  readonly sessions: Sessions & { readonly acknowledged: Acknowledged };
  readonly executions: ExecutionAggregate;
  readonly slots: Slots;
  readonly largeLaunches: LargeLaunches;
  readonly parked: ParkedStreams;
  /** True when other processes write the log too. */
  readonly isShared: boolean;
};

/**
 * The services that a process needs to launch executions, in any role: the reference, the definitions and the services
 * of executions.
 */
export type Launching = {
  /** The periods in which versions of launch plans were active, and projects archived. */
  readonly activations: Activations;
  /** The caller closes `reference.following` and `activations`. */
  readonly reference: Reference;
  readonly definitions: RegisteredDefinitions;
  readonly services: ExecutionServices;
};

const definitionsOf = ({ store, payloads, sessions }: LaunchingParts): RegisteredDefinitions =>
  registeredDefinitions({
    log: store,
    payloads,
    readLaunchPlan: (stream, select) => sessions.read(launchPlanAggregate, stream, select),
    knownLaunchPlan: (stream, select) => sessions.readKnown(launchPlanAggregate, stream, select),
  });

const singleTasksOf = ({ sessions }: LaunchingParts, { projects }: Reference): RelaunchServices['singleTasks'] => ({
  singleTask: async (task: CompiledTask) => {
    const context = { actor: '', commandId: randomUUID() };
    const workflow = await registerSingleTaskWorkflow({ sessions, projects }, task, context);
    await registerSingleTaskPlan(sessions, task, workflow, { ...context, commandId: randomUUID() });
    return create(IdentifierSchema, workflow);
  },
});

/** Opens the reference and the definitions, and joins them to the use case of launching. */
export const openLaunching = (parts: LaunchingParts): Launching => {
  const { configuration, store, payloads, sessions, executions, slots, largeLaunches } = parts;
  const reference = openReference(parts);
  const definitions = definitionsOf(parts);
  const services: ExecutionServices = {
    sessions,
    aggregate: executions,
    log: store,
    payloads,
    projects: reference.projects,
    definitions,
    slots,
    singleTasks: singleTasksOf(parts, reference),
    largeLaunches,
    attributes: launchAttributes(reference.attributes),
    platform: platformOf(configuration),
    random: (bytes) => randomBytes(bytes),
    maxOutputBytes: configuration.max_output_bytes,
  };
  const activations = followActivations(store, { onParked: parts.parked.note, advancesOverAll: parts.isShared });
  parts.parked.onResuming((stream) => activations.resume(stream));
  return { activations, reference, definitions, services };
};
