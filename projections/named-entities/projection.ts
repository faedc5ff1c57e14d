import { create, fromBinary, toBinary } from '@bufbuild/protobuf';

import {
  type NamedEntity,
  NamedEntitySchema,
  NamedEntityState as State,
} from '../../proto/gen/platformidl/admin/common_pb.js';
import { ResourceType } from '../../proto/gen/platformidl/core/identifier_pb.js';
import { type EntityName, isGenerated, isHidden } from '../../services/kernel/values/entity-name.js';
import type { Kind } from '../../services/kernel/identifier.js';
import type { LaunchPlanEvent } from '../../services/launch-plan/events.js';
import { type NamedEntityEvent, namedEntityStream } from '../../services/named-entity/events.js';
import type { TaskEvent } from '../../services/task/events.js';
import type { WorkflowEvent } from '../../services/workflow/events.js';
import type { ReadModel, SeenEvent } from '../runtime/read-model.js';
import { type Handler, readModel } from '../runtime/typed-read-model.js';
import { namedEntityCollection } from './columns.js';

/**
 * A name of which at least one version is registered. Times are microseconds since 1970; `null` while the name has no
 * metadata of its own.
 */
export type NamedEntityDocument = {
  readonly entity: NamedEntity;
  /** When the name first got metadata of its own. */
  readonly notedAt: number | null;
  readonly updatedAt: number | null;
};

type Registered = TaskEvent | WorkflowEvent | Extract<LaunchPlanEvent, { readonly type: 'LaunchPlanRegistered' }>;

const KIND_OF: Readonly<Record<Registered['type'], Kind>> = {
  TaskRegistered: 'TASK',
  WorkflowRegistered: 'WORKFLOW',
  LaunchPlanRegistered: 'LAUNCH_PLAN',
};

const entityOf = ({ type, data }: Registered): EntityName => {
  const { project = '', domain = '', name = '' } = data.id ?? {};
  return { kind: KIND_OF[type], project, domain, name };
};

const named = (name: EntityName): NamedEntityDocument => {
  const { kind, ...id } = name;
  const state = isGenerated(name) ? State.SYSTEM_GENERATED : State.NAMED_ENTITY_ACTIVE;
  return {
    entity: create(NamedEntitySchema, { resourceType: ResourceType[kind], id, metadata: { state } }),
    notedAt: null,
    updatedAt: null,
  };
};

/** A version is registered: its name is known from the first one on. */
const registered: Handler<NamedEntityDocument, Registered> = {
  touches: ({ body }) => [namedEntityStream(entityOf(body))],
  fold: (document, { body }) => document ?? named(entityOf(body)),
};

const updated = (
  document: NamedEntityDocument | undefined,
  { body, metadata }: SeenEvent<NamedEntityEvent>,
): NamedEntityDocument => {
  const { resourceType, id, metadata: notes } = body.data;
  const at = metadata.recordedAtMs * 1_000;
  const entity = create(NamedEntitySchema, { resourceType, ...(id && { id }), ...(notes && { metadata: notes }) });
  return { entity, notedAt: document?.notedAt ?? at, updatedAt: at };
};

const encode: ReadModel<NamedEntityDocument>['encode'] = (_, { entity, notedAt, updatedAt }) => {
  const { project = '', domain = '', name = '' } = entity.id ?? {};
  const { description = '', state = 0 } = entity.metadata ?? {};
  const { resourceType } = entity;
  const generated = isHidden({ project, domain, name }) ? 1 : 0;
  const fields = { resource_type: resourceType, project, domain, name, description, state, generated };
  return {
    fields: { ...fields, noted_at: notedAt, updated_at: updatedAt },
    response: toBinary(NamedEntitySchema, entity),
  };
};

const numberOr = (value: unknown): number | null => (typeof value === 'number' ? value : null);

/** Names, one document each, keyed by the stream of the name's metadata. */
export const namedEntities = readModel<NamedEntityDocument, Registered | NamedEntityEvent>({
  collection: namedEntityCollection,
  isFedByOneStream: false,
  handlers: {
    TaskRegistered: registered,
    WorkflowRegistered: registered,
    LaunchPlanRegistered: registered,
    NamedEntityUpdated: { fold: updated },
  },
  encode,
  decode: ({ fields, response }) => ({
    entity: fromBinary(NamedEntitySchema, response),
    notedAt: numberOr(fields['noted_at']),
    updatedAt: numberOr(fields['updated_at']),
  }),
});
