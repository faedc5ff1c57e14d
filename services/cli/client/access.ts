import { cell } from './lines.js';
import { get, post, type ServerFlags } from './server-client.js';

/** The flags of the commands of `access`. */
export type AccessFlags = Pick<ServerFlags, 'server' | 'tokenFile'> & {
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

type Page = { readonly bindings: readonly ShownBinding[]; readonly token: string };

const PATH = '/api/v1/access/bindings';

/** The flags of every command that asks a server; these commands name no execution. */
const serverOf = ({ server, tokenFile }: AccessFlags): ServerFlags => ({
  server,
  ...(tokenFile !== undefined && { tokenFile }),
  project: '',
  domain: '',
});

/**
 * Gives a role to a principal, or takes it away.
 *
 * @throws {OperatorError} when the server refuses, with its reason.
 */
export const changeBinding = async (
  command: 'grant' | 'revoke',
  who: Pick<ShownBinding, 'principal' | 'role'>,
  flags: AccessFlags,
): Promise<void> => {
  const { project = '', domain = '', issuer = '' } = flags;
  await post(serverOf(flags), command === 'grant' ? PATH : `${PATH}/revoke`, {
    binding: { ...who, project, domain, issuer },
  });
};

const lineOf = ({ principal, role, project, domain, issuer }: ShownBinding): string =>
  [cell(principal, 24), cell(role, 13), cell(project || '*', 20), cell(domain || '*', 12), issuer].join('  ').trimEnd();

/**
 * Prints the role bindings, one a line.
 *
 * @throws {OperatorError} when the server refuses, with its reason.
 */
export const listBindings = async (flags: AccessFlags): Promise<void> => {
  const { project, domain, principal, json = false } = flags;
  let token: string | undefined;
  do {
    const page = (await (await get(serverOf(flags), PATH, { project, domain, principal, token })).json()) as Page;
    for (const each of page.bindings) process.stdout.write(`${json ? JSON.stringify(each) : lineOf(each)}\n`);
    ({ token } = page);
  } while (token !== '');
};
