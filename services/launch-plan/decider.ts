import { create } from '@bufbuild/protobuf';

import {
  LaunchPlanActivatedSchema,
  LaunchPlanDeactivatedSchema,
  LaunchPlanRegisteredSchema,
} from '../../proto/gen/platformidl/eventlog/launch_plan_pb.js';
import type { Aggregate, Decider, Decision } from '../kernel/aggregate.js';
import { isSameDigest } from '../kernel/encoding/digest.js';
import { encodedField } from '../kernel/encoding/field-bytes.js';
import type { ActivateLaunchPlan, DeactivateLaunchPlan, LaunchPlanCommand, RegisterLaunchPlan } from './commands.js';
import { LAUNCH_PLAN_CATEGORY, launchPlanCodec, type LaunchPlanEvent } from './events.js';
import { evolveLaunchPlan, initialLaunchPlan, type LaunchPlanState } from './state.js';

export type LaunchPlanRefusal = { readonly kind: 'exists-identical' | 'exists-different' | 'version-unknown' };

type LaunchPlanDecision = Decision<LaunchPlanEvent, LaunchPlanRefusal>;

const refused = (kind: LaunchPlanRefusal['kind']): LaunchPlanDecision => ({ kind: 'refused', refusal: { kind } });
const recorded = (event: LaunchPlanEvent): LaunchPlanDecision => ({ kind: 'accepted', events: [event] });
const NOTHING_TO_DO: LaunchPlanDecision = { kind: 'accepted', events: [] };

const register = ({ versions }: LaunchPlanState, command: RegisterLaunchPlan): LaunchPlanDecision => {
  const { id, spec, expectedInputs, expectedOutputs, digest, limitsConcurrency } = command;
  const known = versions.get(id.version);
  if (known !== undefined) return refused(isSameDigest(known.digest, digest) ? 'exists-identical' : 'exists-different');
  const data = create(LaunchPlanRegisteredSchema, {
    id,
    spec: { content: { case: 'inline', value: spec } },
    digest,
    limitsConcurrency,
  });
  const { expectedInputs: inputs, expectedOutputs: outputs } = LaunchPlanRegisteredSchema.field;
  // The inputs and outputs are encoded already; as unknown fields they are written as they are.
  data.$unknown = [encodedField(inputs.number, expectedInputs), encodedField(outputs.number, expectedOutputs)];
  return recorded({ type: 'LaunchPlanRegistered', data });
};

/** One event deactivates the old version and activates the new one, so that at most one is ever active. */
const activate = (
  { versions, activeVersion }: LaunchPlanState,
  { id, schedule }: ActivateLaunchPlan,
): LaunchPlanDecision => {
  if (!versions.has(id.version)) return refused('version-unknown');
  if (activeVersion === id.version) return NOTHING_TO_DO;
  return recorded({
    type: 'LaunchPlanActivated',
    data: create(LaunchPlanActivatedSchema, {
      id,
      deactivatedVersion: activeVersion ?? '',
      ...(schedule && { schedule }),
    }),
  });
};

const deactivate = ({ versions, activeVersion }: LaunchPlanState, { id }: DeactivateLaunchPlan): LaunchPlanDecision => {
  if (!versions.has(id.version)) return refused('version-unknown');
  if (activeVersion !== id.version) return NOTHING_TO_DO;
  return recorded({ type: 'LaunchPlanDeactivated', data: create(LaunchPlanDeactivatedSchema, { id }) });
};

export const launchPlanDecider: Decider<LaunchPlanState, LaunchPlanCommand, LaunchPlanEvent, LaunchPlanRefusal> = {
  initial: initialLaunchPlan,
  evolve: evolveLaunchPlan,
  decide: (state, command) => {
    switch (command.type) {
      case 'RegisterLaunchPlan':
        return register(state, command);
      case 'ActivateLaunchPlan':
        return activate(state, command);
      case 'DeactivateLaunchPlan':
        return deactivate(state, command);
    }
  },
};

const STATE_BYTES = 350;
const VERSION_BYTES = 340;

export const launchPlanAggregate: Aggregate<LaunchPlanState, LaunchPlanCommand, LaunchPlanEvent, LaunchPlanRefusal> = {
  category: LAUNCH_PLAN_CATEGORY,
  decider: launchPlanDecider,
  codec: launchPlanCodec,
  targetOf: ({ id }) => id.version,
  payloadScope: ({ id }) => `definitions/${id.project}`,
  // A registered version is permanent and its content never changes.
  isPermanentRefusal: ({ kind }) => kind !== 'version-unknown',
  sizeOf: ({ versions, versionChars }) => STATE_BYTES + versions.size * VERSION_BYTES + versionChars,
};
