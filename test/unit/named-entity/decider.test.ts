import { create } from '@bufbuild/protobuf';
import { describe, it } from 'vitest';

import { NamedEntityState as State } from '../../../proto/gen/platformidl/admin/common_pb.js';
import { ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { NamedEntityUpdatedSchema } from '../../../proto/gen/platformidl/eventlog/named_entity_pb.js';
import { namedEntityDecider } from '../../../services/named-entity/decider.js';
import type { NamedEntityEvent } from '../../../services/named-entity/events.js';
import { given } from '../../support/streams/given.js';

const id = { project: 'flytesnacks', domain: 'development', name: 'greet' };
const entity = { kind: 'WORKFLOW', ...id } as const;

const updated = (description: string, state: State): NamedEntityEvent => ({
  type: 'NamedEntityUpdated',
  data: create(NamedEntityUpdatedSchema, {
    resourceType: ResourceType.WORKFLOW,
    id,
    metadata: { description, state },
  }),
});
const update = (description: string, state = State.NAMED_ENTITY_ACTIVE, isRegistered = true) => ({
  entity,
  isRegistered,
  description,
  state,
});

describe('the metadata of a name', () => {
  it('is recorded as the update has it', () => {
    const command = update('greets', State.NAMED_ENTITY_ARCHIVED);
    given(namedEntityDecider).when(command).then(updated('greets', State.NAMED_ENTITY_ARCHIVED));
  });

  it('is refused while no version is registered', () => {
    given(namedEntityDecider)
      .when(update('greets', State.NAMED_ENTITY_ACTIVE, false))
      .thenRefused({ kind: 'nothing-registered' });
  });

  it('keeps a description that an update leaves empty, and takes the state in any case', () => {
    given(namedEntityDecider, updated('greets', State.NAMED_ENTITY_ARCHIVED))
      .when(update(''))
      .then(updated('greets', State.NAMED_ENTITY_ACTIVE));
  });

  it('begins in the state SYSTEM_GENERATED for a name that the control plane has generated', () => {
    const generated = { ...entity, name: '.flytegen.greet' };
    const command = (state: State) => ({ ...update('', state), entity: generated });
    given(namedEntityDecider).when(command(State.SYSTEM_GENERATED)).thenNothing();
    given(namedEntityDecider)
      .when(command(State.NAMED_ENTITY_ACTIVE))
      .then({
        type: 'NamedEntityUpdated',
        data: create(NamedEntityUpdatedSchema, {
          resourceType: ResourceType.WORKFLOW,
          id: { ...id, name: generated.name },
          metadata: { state: State.NAMED_ENTITY_ACTIVE },
        }),
      });
  });

  it.each([
    ['', 'NAMED_ENTITY_ACTIVE', []],
    ['greets', 'SYSTEM_GENERATED', [updated('greets', State.SYSTEM_GENERATED)]],
    ['', 'SYSTEM_GENERATED', [updated('greets', State.SYSTEM_GENERATED)]],
  ] as const)('is not recorded again when nothing changes: "%s" in state %s', (description, state, facts) => {
    given(namedEntityDecider, ...facts)
      .when(update(description, State[state]))
      .thenNothing();
  });
});
