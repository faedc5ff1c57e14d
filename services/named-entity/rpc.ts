import { create } from '@bufbuild/protobuf';

import {
  type NamedEntityMetadata,
  NamedEntityState as State,
  type NamedEntityUpdateRequest,
  NamedEntityUpdateResponseSchema,
} from '../../proto/gen/platformidl/admin/common_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { contextOf } from '../kernel/command-context.js';
import { type EntityName, entryNotFound, kindOf, nameOf } from '../kernel/values/entity-name.js';
import { type Call, invalid, missing, route, type Route, RpcError } from '../kernel/rpc.js';
import type { Sessions } from '../kernel/ports/sessions.js';
import type { UpdateNamedEntity } from './commands.js';
import { namedEntityAggregate, type NamedEntityRefusal } from './decider.js';
import { namedEntityStream } from './events.js';
import type { RegisteredNames } from './ports.js';

export type NamedEntityServices = { readonly sessions: Sessions; readonly registered: RegisteredNames };

/** The longest description, in characters. */
const MAX_DESCRIPTION = 300;

const assertMetadata = ({ description, state }: NamedEntityMetadata): void => {
  if (Array.from(description).length > MAX_DESCRIPTION)
    throw new RpcError('INVALID_ARGUMENT', `description cannot exceed ${MAX_DESCRIPTION} characters`);
  if (!Object.hasOwn(State, state)) throw invalid('state', `${String(state)} is not a state of a named entity`);
};

const refusals: Readonly<Record<NamedEntityRefusal['kind'], (entity: EntityName) => RpcError>> = {
  'nothing-registered': entryNotFound,
};

const commandOf = async (
  { registered }: NamedEntityServices,
  { resourceType, id, metadata }: NamedEntityUpdateRequest,
): Promise<UpdateNamedEntity> => {
  const kind = kindOf(resourceType, 'Cannot get NamedEntityMetadata for resource type');
  const entity = { kind, ...nameOf(id) };
  if (metadata === undefined) throw missing('metadata');
  assertMetadata(metadata);
  const { description, state } = metadata;
  return { entity, isRegistered: await registered.has(entity), description, state };
};

const update = async (services: NamedEntityServices, request: NamedEntityUpdateRequest, call: Call): Promise<void> => {
  const command = await commandOf(services, request);
  const stream = namedEntityStream(command.entity);
  const outcome = await services.sessions.handle(namedEntityAggregate, stream, command, contextOf(call));
  call.answeredAt(outcome.position);
  if (outcome.kind === 'refused') throw refusals[outcome.refusal.kind](command.entity);
};

export const namedEntityRoutes = (services: NamedEntityServices): readonly Route[] => [
  route(AdminService.method.updateNamedEntity, async (request, call) => {
    await update(services, request, call);
    return create(NamedEntityUpdateResponseSchema);
  }),
];
