import { create } from '@bufbuild/protobuf';

import {
  AccessService,
  OwnPermissionsSchema,
  RoleBindingListSchema,
  type RoleBindingListRequest,
  RoleGrantResponseSchema,
  RoleRevokeResponseSchema,
} from '../../proto/gen/platformidl/eventlog/access_service_pb.js';
import { RoleBindingSchema } from '../../proto/gen/platformidl/eventlog/role_binding_pb.js';
import { PERMISSIONS } from '../kernel/access.js';
import { contextOf } from '../kernel/command-context.js';
import type { Sessions } from '../kernel/ports/sessions.js';
import { accessOf } from '../kernel/permitted.js';
import { type Call, invalid, missing, route, type Route, RpcError } from '../kernel/rpc.js';
import { assertVisible } from '../kernel/values/visible-text.js';
import type { RoleBindingCommand } from './commands.js';
import { MAX_BINDINGS, roleBindingAggregate, type RoleBindingRefusal } from './decider.js';
import { roleBindingStream } from './events.js';
import type { RecordedBindings } from './ports.js';
import type { GrantedRole } from './state.js';

export type RoleBindingServices = {
  readonly sessions: Sessions;
  readonly recorded: RecordedBindings;
  /** The names of the roles that can be given. */
  readonly roles: readonly string[];
};

const MAX_LIMIT = 100;
const MAX_TEXT_BYTES = 255;

/** The name by which requests mean every project or domain; it is recorded as an empty text. */
const EVERY = '*';

const refusals: Readonly<Record<RoleBindingRefusal['kind'], (binding: GrantedRole) => RpcError>> = {
  'binding-unknown': ({ principal, role }) =>
    new RpcError(
      'NOT_FOUND',
      `principal [${principal}] has no binding of role ${role} with this project, domain and issuer`,
    ),
  'bindings-full': ({ principal }) =>
    new RpcError('RESOURCE_EXHAUSTED', `principal [${principal}] has ${MAX_BINDINGS} role bindings already`),
};

const named = (name: string): string => (name === EVERY ? '' : name);

const assertText = (field: string, text: string): void => {
  if (Buffer.byteLength(text) > MAX_TEXT_BYTES) throw invalid(field, `above ${MAX_TEXT_BYTES} bytes`);
  assertVisible(field, text);
};

/** Reads and validates the binding of a request. */
const bindingIn = ({ roles }: RoleBindingServices, sent: GrantedRole | undefined): GrantedRole => {
  if (sent === undefined) throw missing('binding');
  const { principal, role, issuer } = sent;
  if (principal === '') throw missing('binding.principal');
  if (role === '') throw missing('binding.role');
  if (!roles.includes(role)) throw invalid('binding.role', `${role} is none of ${roles.join(', ')}`);
  for (const field of ['principal', 'project', 'domain', 'issuer'] as const)
    assertText(`binding.${field}`, sent[field]);
  return { principal, role, project: named(sent.project), domain: named(sent.domain), issuer };
};

const record = async ({ sessions }: RoleBindingServices, command: RoleBindingCommand, call: Call): Promise<void> => {
  const stream = roleBindingStream(command.binding.principal);
  const outcome = await sessions.handle(roleBindingAggregate, stream, command, contextOf(call));
  call.answeredAt(outcome.position);
  if (outcome.kind === 'refused') throw refusals[outcome.refusal.kind](command.binding);
};

const limitOf = ({ limit }: RoleBindingListRequest): number => {
  if (limit > MAX_LIMIT) throw invalid('limit', `${limit} is above ${MAX_LIMIT}`);
  return limit || MAX_LIMIT;
};

const keyOf = ({ principal, role, project, domain, issuer }: GrantedRole): string =>
  JSON.stringify([principal, role, project, domain, issuer]);

/** The page token: the key of the last binding of the page. */
const tokenOf = (binding: GrantedRole): string => Buffer.from(keyOf(binding)).toString('base64url');
/** A JSON array of five texts. */
const KEY = /^\[(?:"(?:[^"\\]|\\.)*",){4}"(?:[^"\\]|\\.)*"\]$/u;

/** The key in a page token; empty for the first page. */
const keyIn = (token: string): string => {
  const key = Buffer.from(token, 'base64url').toString();
  if (token !== '' && !KEY.test(key)) throw invalid('token', 'not a token of this list');
  return key;
};

const applies = (given: string, requested: string): boolean => requested === '' || given === '' || given === requested;

const appliesIn = (request: RoleBindingListRequest, { principal, project, domain }: GrantedRole): boolean =>
  (request.principal === '' || principal === request.principal) &&
  applies(project, named(request.project)) &&
  applies(domain, named(request.domain));

const list = async ({ recorded }: RoleBindingServices, request: RoleBindingListRequest, call: Call) => {
  const limit = limitOf(request);
  const after = keyIn(request.token);
  const found = (await recorded.all(call)).filter((each) => appliesIn(request, each) && keyOf(each) > after);
  const page = found.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1)).slice(0, limit);
  const last = found.length > limit ? page.at(-1) : undefined;
  return create(RoleBindingListSchema, {
    bindings: page.map((each) => create(RoleBindingSchema, each)),
    token: last ? tokenOf(last) : '',
  });
};

export const roleBindingRoutes = (services: RoleBindingServices): readonly Route[] => [
  route(AccessService.method.grant, async ({ binding }, call) => {
    await record(services, { type: 'GrantRole', binding: bindingIn(services, binding) }, call);
    return create(RoleGrantResponseSchema);
  }),
  route(AccessService.method.revoke, async ({ binding }, call) => {
    await record(services, { type: 'RevokeRole', binding: bindingIn(services, binding) }, call);
    return create(RoleRevokeResponseSchema);
  }),
  route(AccessService.method.list, (request, call) => list(services, request, call)),
  route(AccessService.method.listOwnPermissions, ({ project, domain }, call) => {
    const access = accessOf(call);
    const permissions = PERMISSIONS.filter((each) => access.may(each, named(project), named(domain)));
    return Promise.resolve(create(OwnPermissionsSchema, { permissions }));
  }),
];
