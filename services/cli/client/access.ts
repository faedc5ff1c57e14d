import { AccessService, RoleBindingListSchema } from '../../../proto/gen/platformidl/eventlog/access_service_pb.js';
import { connected } from './connection/connect.js';
import type { ConnectionFlags } from './connection/profile.js';
import { jsonOfMessage, print } from './output/documents.js';
import { type Columns, printHeader } from './output/header.js';
import { cell, oneLine } from './output/text.js';

/** The flags of the commands of `access`. */
export type AccessFlags = ConnectionFlags & {
  readonly project?: string;
  readonly domain?: string;
  readonly issuer?: string;
  readonly principal?: string;
  readonly json?: boolean;
};

type ShownBinding = {
  readonly principal: string;
  readonly role: string;
  readonly project: string;
  readonly domain: string;
  readonly issuer: string;
};

type Page = { readonly bindings: readonly ShownBinding[] };

/**
 * Gives a role to a principal, or takes it away.
 *
 * @throws {Refused} when the server refuses; the message has its reason.
 */
export const changeBinding = async (
  command: 'grant' | 'revoke',
  principalAndRole: Pick<ShownBinding, 'principal' | 'role'>,
  flags: AccessFlags,
): Promise<void> =>
  connected(flags, async (connection) => {
    const { project = '', domain = '', issuer = '' } = flags;
    const request = { binding: { ...principalAndRole, project, domain, issuer } };
    const { grant, revoke } = AccessService.method;
    await (command === 'grant' ? connection.call(grant, request) : connection.call(revoke, request));
  });

const COLUMNS: Columns = [
  ['PRINCIPAL', 24],
  ['ROLE', 13],
  ['PROJECT', 20],
  ['DOMAIN', 12],
  ['ISSUER', 0],
];

const lineOf = ({ principal, role, project, domain, issuer }: ShownBinding): string =>
  [cell(principal, 24), cell(role, 13), cell(project || '*', 20), cell(domain || '*', 12), oneLine(issuer)]
    .join('  ')
    .trimEnd();

/**
 * Prints the role bindings, one a line.
 *
 * @throws {Refused} when the server refuses; the message has its reason.
 */
export const listBindings = (flags: AccessFlags): Promise<void> =>
  connected(flags, async (connection) => {
    const { project = '', domain = '', principal = '', json = false } = flags;
    let token = '';
    do {
      const page = await connection.call(AccessService.method.list, { project, domain, principal, token });
      if (token === '' && !json) printHeader(COLUMNS);
      const { bindings } = jsonOfMessage(RoleBindingListSchema, page) as unknown as Page;
      for (const each of bindings) print(json ? JSON.stringify(each) : lineOf(each));
      ({ token } = page);
    } while (token !== '');
  });

/**
 * Prints what the caller itself may do in a project and domain, one permission a line.
 *
 * @throws {Refused} when the server refuses; the message has its reason.
 */
export const listOwnPermissions = (flags: AccessFlags): Promise<void> =>
  connected(flags, async (connection) => {
    const { project = '', domain = '' } = flags;
    const { permissions } = await connection.call(AccessService.method.listOwnPermissions, { project, domain });
    for (const each of permissions) print(each);
  });
