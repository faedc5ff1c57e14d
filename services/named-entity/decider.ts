import { create } from '@bufbuild/protobuf';

import { NamedEntityState as State } from '../../proto/gen/platformidl/admin/common_pb.js';
import { ResourceType } from '../../proto/gen/platformidl/core/identifier_pb.js';
import { NamedEntityUpdatedSchema } from '../../proto/gen/platformidl/eventlog/named_entity_pb.js';
import type { Aggregate, Decider } from '../kernel/aggregate.js';
import { isGenerated } from '../kernel/values/entity-name.js';
import type { UpdateNamedEntity } from './commands.js';
import { NAMED_ENTITY_CATEGORY, namedEntityCodec, type NamedEntityEvent } from './events.js';
import { evolveNotes, initialNotes, type NamedEntityNotes } from './state.js';

export type NamedEntityRefusal = { readonly kind: 'nothing-registered' };

const updated = (
  { kind, ...id }: UpdateNamedEntity['entity'],
  metadata: { readonly description: string; readonly state: State },
): NamedEntityEvent => ({
  type: 'NamedEntityUpdated',
  data: create(NamedEntityUpdatedSchema, { resourceType: ResourceType[kind], id, metadata }),
});

/** The state of a name before the first update. */
const stateOf = (entity: UpdateNamedEntity['entity']): State =>
  isGenerated(entity) ? State.SYSTEM_GENERATED : State.NAMED_ENTITY_ACTIVE;

export const namedEntityDecider: Decider<NamedEntityNotes, UpdateNamedEntity, NamedEntityEvent, NamedEntityRefusal> = {
  initial: initialNotes,
  evolve: evolveNotes,
  decide: (known, { entity, isRegistered, description, state }) => {
    if (!isRegistered) return { kind: 'refused', refusal: { kind: 'nothing-registered' } };
    const { state: before = stateOf(entity) } = known;
    const next = { description: description || known.description, state };
    const isSame = next.description === known.description && state === before;
    return { kind: 'accepted', events: isSame ? [] : [updated(entity, next)] };
  },
};

const STATE_BYTES = 70;

export const namedEntityAggregate: Aggregate<
  NamedEntityNotes,
  UpdateNamedEntity,
  NamedEntityEvent,
  NamedEntityRefusal
> = {
  category: NAMED_ENTITY_CATEGORY,
  decider: namedEntityDecider,
  codec: namedEntityCodec,
  payloadScope: ({ entity }) => `definitions/${entity.project}`,
  isPermanentRefusal: () => false,
  sizeOf: ({ description }) => STATE_BYTES + description.length,
};
