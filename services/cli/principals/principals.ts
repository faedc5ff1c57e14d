import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { BROWSER_CLIENT } from '../../auth/server/browser-client.js';
import { type Client, clientsFile, hashSecret, newSecret, PUBLIC_CLIENTS } from '../../auth/server/clients.js';
import { hashPassword } from '../../auth/users/password-hash.js';
import { isPrincipalName, NAME_RULE } from '../../auth/permissions/principal-name.js';
import { passwordProblem, type User, usersFile } from '../../auth/users/users.js';
import type { Configuration } from '../../config/configuration.js';
import { OperatorError } from '../../config/operator-errors.js';
import { redirectAddress } from '../../config/setting-kinds.js';
import { principalPaths } from '../../main/access/authorization-server.js';
import { recordChange } from './audited-change.js';
import { endSignIns } from './end-sign-ins.js';
import { createInterface } from 'node:readline/promises';
import { askForSecret } from '../question.js';

const firstLine = async (): Promise<string> => {
  for await (const line of createInterface({ input: process.stdin })) return line;
  throw new OperatorError('no password: it must be the first line of standard input');
};

/**
 * Asks for a new password, twice; without a terminal, takes the first line of standard input.
 *
 * @throws {OperatorError} when both differ, or when there is none.
 */
const askForPassword = async (): Promise<string> => {
  if (!process.stdin.isTTY) return firstLine();
  const password = await askForSecret('Password: ');
  if ((await askForSecret('The same again: ')) !== password) throw new OperatorError('the two passwords differ');
  return password;
};

/** The flags of `user add`. */
export type UserFlags = { readonly roles: readonly string[]; readonly fullName?: string; readonly email?: string };

/** The flags of `client add`. */
export type ClientFlags = {
  readonly roles: readonly string[];
  readonly redirectUri?: readonly string[];
  readonly public: boolean;
};

type Settings = Pick<Configuration, 'data' | 'auth' | 'read_store'>;

const print = (text: string): void => void process.stdout.write(`${text}\n`);

const filesOf = (settings: Settings) => {
  const paths = principalPaths(settings);
  return { paths, users: usersFile(paths.users), clients: clientsFile(paths.clients) };
};

/**
 * Gives the files for a command that changes or prints users or clients that are there already.
 *
 * @throws {OperatorError} naming the directory, when it does not exist.
 */
const filesOfExisting = (settings: Settings, which: 'users' | 'clients') => {
  const files = filesOf(settings);
  const directory = dirname(files.paths[which]);
  if (!existsSync(directory))
    throw new OperatorError(`there is no directory ${directory}, where the ${which} file would be`);
  return files;
};

/** A name stands in tokens as their subject, so a user and a client must not share one. */
const assertFree = async (settings: Settings, name: string): Promise<void> => {
  if (!isPrincipalName(name)) throw new OperatorError(`${JSON.stringify(name)} cannot be a name: ${NAME_RULE}`);
  const { users, clients } = filesOf(settings);
  if ((await users.read()).has(name)) throw new OperatorError(`there is a user ${name} already`);
  const configured = settings.auth.server.clients.map(({ id }) => id);
  const taken = [...(await clients.read()).keys(), ...configured, ...Object.keys(PUBLIC_CLIENTS), BROWSER_CLIENT];
  if (taken.includes(name)) throw new OperatorError(`there is a client ${name} already`);
};

const newPassword = async (): Promise<string> => {
  const password = await askForPassword();
  const problem = passwordProblem(password);
  if (problem !== undefined) throw new OperatorError(`the password ${problem}`);
  return hashPassword(password);
};

const without = <Entry>(records: ReadonlyMap<string, Entry>, name: string, kind: string): Map<string, Entry> => {
  const left = new Map(records);
  if (!left.delete(name)) throw new OperatorError(`there is no ${kind} ${name}`);
  return left;
};

/** Another command may have added one of this name since {@link assertFree}, as while a person types a password. */
const withNew = <Entry>(
  records: ReadonlyMap<string, Entry>,
  [name, entry]: readonly [string, Entry],
  kind: string,
): ReadonlyMap<string, Entry> => {
  if (records.has(name)) throw new OperatorError(`there is a ${kind} ${name} already`);
  return new Map(records).set(name, entry);
};

const userIn = (users: ReadonlyMap<string, User>, name: string): User => {
  const found = users.get(name);
  if (!found) throw new OperatorError(`there is no user ${name}`);
  return found;
};

/**
 * Adds a user, with a password that it asks for.
 *
 * @throws {OperatorError} when the name or the password is not allowed, or a user or client has the name already; after
 * the change, as {@link recordChange}.
 */
export const addUser = async (settings: Settings, name: string, flags: UserFlags): Promise<void> => {
  await assertFree(settings, name);
  const { users, paths } = filesOf(settings);
  const entry: User = {
    password: await newPassword(),
    roles: [...flags.roles],
    ...(flags.fullName !== undefined && { name: flags.fullName }),
    ...(flags.email !== undefined && { email: flags.email }),
  };
  await users.change((before) => withNew(before, [name, entry], 'user'));
  print(`${name} can sign in (${paths.users})`);
  await recordChange(settings, 'flightlog user add', name);
};

/** The error is that of the sign-ins when both fail, as on a full disk: they have to be ended. */
const recordAndEnd = async (settings: Settings, command: string, name: string): Promise<void> => {
  try {
    await recordChange(settings, command, name);
  } finally {
    await endSignIns(settings, name);
  }
};

/**
 * Changes the password of a user to one that it asks for, and ends the sign-ins of the user.
 *
 * @throws {OperatorError} when there is no such user or no directory of users, or the password is not allowed; after
 * the change, as {@link recordChange} and {@link endSignIns}.
 */
export const changePassword = async (settings: Settings, name: string): Promise<void> => {
  const { users } = filesOfExisting(settings, 'users');
  userIn(await users.read(), name); // before a person types a password in vain
  const password = await newPassword();
  await users.change((before) => without(before, name, 'user').set(name, { ...userIn(before, name), password }));
  print(`the password of ${name} is changed`);
  await recordAndEnd(settings, 'flightlog user passwd', name);
};

/**
 * Removes a user, and ends the sign-ins of the user: a user of the same name that is added later gets none of them.
 *
 * @throws {OperatorError} when there is no such user or no directory of users; after the change, as
 * {@link recordChange} and {@link endSignIns}.
 */
export const removeUser = async (settings: Settings, name: string): Promise<void> => {
  await filesOfExisting(settings, 'users').users.change((before) => without(before, name, 'user'));
  print(`${name} can sign in no longer`);
  await recordAndEnd(settings, 'flightlog user remove', name);
};

const line = (name: string, roles: readonly string[]): string => `${name}  ${roles.join(', ')}`.trimEnd();

/** Prints the users with their roles, one a line. @throws {OperatorError} when there is no directory of users. */
export const listUsers = async (settings: Settings): Promise<void> => {
  for (const [name, { roles }] of await filesOfExisting(settings, 'users').users.read()) print(line(name, roles));
};

const assertUsable = ({ redirectUri = [], public: isPublic }: ClientFlags): void => {
  for (const uri of redirectUri)
    if (!redirectAddress.safeParse(uri).success)
      throw new OperatorError(`--redirect-uri: ${uri} is not an http or https address without a fragment`);
  if (isPublic && redirectUri.length === 0) throw new OperatorError('--public: name a --redirect-uri as well');
};

/**
 * Adds a client, and prints its secret unless it is public.
 *
 * @throws {OperatorError} when the id or a redirect address is not allowed, a public client has no redirect address, or
 * a user or client has the id already; after the change, as {@link recordChange}.
 */
export const addClient = async (settings: Settings, id: string, flags: ClientFlags): Promise<void> => {
  assertUsable(flags);
  await assertFree(settings, id);
  const secret = flags.public ? undefined : newSecret();
  const entry: Client = {
    redirect_uris: [...(flags.redirectUri ?? [])],
    roles: [...flags.roles],
    ...(secret !== undefined && { secret_hash: hashSecret(secret) }),
  };
  await filesOf(settings).clients.change((before) => withNew(before, [id, entry], 'client'));
  if (secret !== undefined) process.stderr.write(`the secret of ${id}, which is not shown again:\n`);
  print(secret ?? `${id} is added, without a secret`);
  await recordChange(settings, 'flightlog client add', id);
};

/**
 * Removes a client.
 *
 * @throws {OperatorError} when the clients file has none of this id, or its directory is missing; after the change, as
 * {@link recordChange}.
 */
export const removeClient = async (settings: Settings, id: string): Promise<void> => {
  await filesOfExisting(settings, 'clients').clients.change((before) => without(before, id, 'client'));
  print(`${id} gets no more tokens`);
  await recordChange(settings, 'flightlog client remove', id);
};

/**
 * Prints the clients of the file and of the configuration with their roles, and the public ones built in, one a line.
 *
 * @throws {OperatorError} when the directory of the clients file is missing.
 */
export const listClients = async (settings: Settings): Promise<void> => {
  const { server } = settings.auth;
  for (const [id, { roles }] of await filesOfExisting(settings, 'clients').clients.read()) print(line(id, roles));
  for (const { id, roles } of server.clients) print(`${line(id, roles)}  (configuration)`);
  for (const id of Object.keys(PUBLIC_CLIENTS)) print(`${id}  (built in, public)`);
};
