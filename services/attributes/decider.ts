import { create, equals } from '@bufbuild/protobuf';

import {
  type MatchingAttributes,
  MatchingAttributesSchema,
  type PluginOverride,
  PluginOverridesSchema,
} from '../../proto/gen/platformidl/admin/matchable_resource_pb.js';
import {
  AttributesDeletedSchema,
  AttributesScopeSchema,
  AttributesUpdatedSchema,
} from '../../proto/gen/platformidl/eventlog/attributes_pb.js';
import type { Aggregate, Decider, Decision } from '../kernel/aggregate.js';
import type { AttributesCommand } from './commands.js';
import { ATTRIBUTES_CATEGORY, attributesCodec, type AttributesEvent } from './events.js';
import {
  type AttributesState,
  evolveAttributes,
  initialAttributes,
  resourceTypeOf,
  rowAt,
  sizeOfAttributes,
  sizeOfRow,
} from './state.js';

/**
 * The limits of the attributes of one row, and of all rows of one project with their names, in bytes: every process
 * that launches executions keeps the attributes of all projects in memory.
 */
export const MAX_ROW_BYTES = 64 * 1024;
export const MAX_PROJECT_BYTES = 8 * 1024 * 1024;

export type AttributesRefusal = { readonly kind: 'attributes-too-large' | 'attributes-full' };

type AttributesDecision = Decision<AttributesEvent, AttributesRefusal>;
type Of<Type> = Extract<AttributesCommand, { readonly type: Type }>;

const NOTHING: AttributesDecision = { kind: 'accepted', events: [] };

const refused = (kind: AttributesRefusal['kind']): AttributesDecision => ({ kind: 'refused', refusal: { kind } });

/** A task type that is already present keeps its position in the list; new ones follow in the order given. */
const mergedOverrides = (
  known: readonly PluginOverride[],
  given: readonly PluginOverride[],
): readonly PluginOverride[] => [
  ...new Map([...known, ...given].map((override) => [override.taskType, override])).values(),
];

const merged = (known: MatchingAttributes | undefined, given: MatchingAttributes): MatchingAttributes => {
  if (given.target.case !== 'pluginOverrides') return given;
  const before = known?.target.case === 'pluginOverrides' ? known.target.value.overrides : [];
  const overrides = [...mergedOverrides(before, given.target.value.overrides)];
  const value = create(PluginOverridesSchema, { overrides });
  return create(MatchingAttributesSchema, { target: { case: 'pluginOverrides', value } });
};

const update = (state: AttributesState, { scope, attributes: given }: Of<'UpdateAttributes'>): AttributesDecision => {
  const resourceType = resourceTypeOf(given);
  if (resourceType === undefined) return NOTHING;
  const known = rowAt(state, resourceType, scope);
  const attributes = merged(known?.attributes, given);
  if (known !== undefined && equals(MatchingAttributesSchema, known.attributes, attributes)) return NOTHING;
  if (sizeOfAttributes(attributes) > MAX_ROW_BYTES) return refused('attributes-too-large');
  const added = sizeOfRow(scope, attributes) - (known?.bytes ?? 0);
  // Projects of older releases, which counted no names, may be above the limit: there, rows may still become smaller.
  if (added > 0 && state.bytes + added > MAX_PROJECT_BYTES) return refused('attributes-full');
  const data = create(AttributesUpdatedSchema, { scope: create(AttributesScopeSchema, scope), attributes });
  return { kind: 'accepted', events: [{ type: 'AttributesUpdated', data }] };
};

const remove = (state: AttributesState, { scope, resourceType }: Of<'DeleteAttributes'>): AttributesDecision => {
  if (rowAt(state, resourceType, scope) === undefined) return NOTHING;
  const data = create(AttributesDeletedSchema, { scope: create(AttributesScopeSchema, scope), resourceType });
  return { kind: 'accepted', events: [{ type: 'AttributesDeleted', data }] };
};

export const attributesDecider: Decider<AttributesState, AttributesCommand, AttributesEvent, AttributesRefusal> = {
  initial: initialAttributes,
  evolve: evolveAttributes,
  decide: (state, command) => (command.type === 'UpdateAttributes' ? update(state, command) : remove(state, command)),
};

/** A decoded row takes about this many times its size. */
const DECODED = 5;
const STATE_BYTES = 250;

export const attributesAggregate: Aggregate<AttributesState, AttributesCommand, AttributesEvent, AttributesRefusal> = {
  category: ATTRIBUTES_CATEGORY,
  decider: attributesDecider,
  codec: attributesCodec,
  payloadScope: ({ scope }) => `definitions/${scope.project}`,
  targetOf: ({ scope: { domain, workflow } }) => JSON.stringify([domain, workflow]),
  // Other rows may be deleted, and a row that is merged with may shrink.
  isPermanentRefusal: () => false,
  sizeOf: ({ bytes }) => STATE_BYTES + DECODED * bytes,
};
