import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import {
  type LaunchPlan,
  LaunchPlanSchema,
  type LaunchPlanSpec,
  LaunchPlanSpecSchema,
  LaunchPlanState,
} from '../../proto/gen/platformidl/admin/launch_plan_pb.js';
import type { LaunchPlanEvent } from '../../services/launch-plan/events.js';
import type { StreamName } from '../../services/kernel/stream.js';
import { workflowStream } from '../../services/workflow/events.js';
import { loadedMessage } from '../runtime/decoded.js';
import { digestText } from '../query/versions/version-columns.js';
import { documentKey } from '../query/document-key.js';
import type { SeenEvent } from '../runtime/read-model.js';
import type { StoredDocument } from '../runtime/read-store.js';
import { readModel } from '../runtime/typed-read-model.js';
import { microsOf, timestampOfMs } from '../query/times.js';
import { launchPlanCollection } from './columns.js';

/** A version of a launch plan. */
export type LaunchPlanDocument = {
  readonly plan: LaunchPlan;
  /** Position of its registration. */
  readonly recorded: number;
  readonly digest: string;
};

/** Key of a version's document; all versions of a name share a stream. */
export const launchPlanKey = (stream: StreamName, version: string): string => documentKey(stream, version);

type EventOf<Type extends LaunchPlanEvent['type']> = SeenEvent<Extract<LaunchPlanEvent, { readonly type: Type }>>;

const registered = ({ body, metadata, position }: EventOf<'LaunchPlanRegistered'>): LaunchPlanDocument => {
  const at = timestampOfMs(metadata.recordedAtMs);
  const { id, spec, expectedInputs, expectedOutputs, digest } = body.data;
  const plan = create(LaunchPlanSchema, {
    ...(id && { id }),
    ...(spec && { spec: loadedMessage(LaunchPlanSpecSchema, spec) }),
    closure: {
      state: LaunchPlanState.INACTIVE,
      ...(expectedInputs && { expectedInputs }),
      ...(expectedOutputs && { expectedOutputs }),
      createdAt: at,
      updatedAt: at,
    },
  });
  return { plan, recorded: Number(position), digest: digestText(digest) };
};

/**
 * Sets the state. Activation does not change `updatedAt`, neither for the version that becomes active nor for the one
 * that it replaces.
 */
const activated = (document: LaunchPlanDocument, isActive: boolean): LaunchPlanDocument => {
  const { closure } = document.plan;
  if (closure) closure.state = isActive ? LaunchPlanState.ACTIVE : LaunchPlanState.INACTIVE;
  return document;
};

const deactivated = (document: LaunchPlanDocument, { metadata }: SeenEvent): LaunchPlanDocument => {
  const { closure } = document.plan;
  if (closure) closure.updatedAt = timestampOfMs(metadata.recordedAtMs);
  return activated(document, false);
};

/** `CRON`, `RATE` or `NONE`, as clients filter by it. */
const scheduleTypeOf = (spec: LaunchPlanSpec | undefined): string => {
  const expression = spec?.entityMetadata?.schedule?.ScheduleExpression;
  if (expression?.case === undefined) return 'NONE';
  if (expression.case === 'rate') return expression.value.value > 0 ? 'RATE' : 'NONE';
  // oxlint-disable-next-line typescript/no-deprecated -- plans with the old kind of expression are registered still
  const text = expression.case === 'cronSchedule' ? expression.value.schedule : expression.value;
  return text === '' ? 'NONE' : 'CRON';
};

const idFields = ({ id }: LaunchPlan): StoredDocument['fields'] => {
  const { project = '', domain = '', name = '', version = '' } = id ?? {};
  return { project, domain, name, version };
};

/** The workflow version that the plan launches: its stream, and the parts of its identifier. */
const workflowFields = ({ spec }: LaunchPlan): StoredDocument['fields'] => {
  const id = spec?.workflowId;
  const { project = null, domain = null, name = null, version = null } = id ?? {};
  return {
    workflow: id ? workflowStream(id) : null,
    workflow_project: project,
    workflow_domain: domain,
    workflow_name: name,
    workflow_version: version,
  };
};

const fieldsOf = ({ plan, recorded, digest }: LaunchPlanDocument): StoredDocument['fields'] => {
  const scheduleType = scheduleTypeOf(plan.spec);
  return {
    digest,
    state: plan.closure?.state ?? LaunchPlanState.INACTIVE,
    schedule_type: scheduleType,
    launch_condition_type: scheduleType === 'NONE' ? null : 'SCHED',
    created_at: microsOf(plan.closure?.createdAt),
    updated_at: microsOf(plan.closure?.updatedAt),
    recorded,
    ...idFields(plan),
    ...workflowFields(plan),
  };
};

/** The key of the version that the event is about. */
const keyOf = ({ body, stream }: SeenEvent<LaunchPlanEvent>): string =>
  launchPlanKey(stream, body.data.id?.version ?? '');

const touches = (event: SeenEvent<LaunchPlanEvent>): readonly string[] => [keyOf(event)];

const bothVersions = (event: EventOf<'LaunchPlanActivated'>): readonly string[] => {
  const { deactivatedVersion } = event.body.data;
  if (deactivatedVersion === '') return touches(event);
  return [...new Set([keyOf(event), launchPlanKey(event.stream, deactivatedVersion)])];
};

/** Launch plans, one document for each version. An activation changes up to two of them. */
export const launchPlans = readModel<LaunchPlanDocument, LaunchPlanEvent>({
  collection: launchPlanCollection,
  handlers: {
    LaunchPlanRegistered: { touches, fold: (_, event) => registered(event) },
    LaunchPlanActivated: {
      touches: bothVersions,
      fold: (document, event, key) => document && activated(document, key === keyOf(event)),
    },
    LaunchPlanDeactivated: { touches, fold: (document, event) => document && deactivated(document, event) },
  },
  encode: (_, document) => ({ fields: fieldsOf(document), response: toBinary(LaunchPlanSchema, document.plan) }),
  decode: ({ fields, response }) => ({
    plan: fromBinary(LaunchPlanSchema, response),
    recorded: Number(fields['recorded'] ?? 0),
    digest: String(fields['digest'] ?? ''),
  }),
});
