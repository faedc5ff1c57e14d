import * as z from 'zod';
import { isPassword, isPasswordHash } from './password-hash.js';
import { type RecordsFile, recordsFile } from './records-file.js';

/** One person in the users file. */
export const user = z.strictObject({
  password: z.string().refine(isPasswordHash),
  /** Roles in every project and domain; grants by project are given to the user's name. */
  roles: z.array(z.string().min(1)).default([]),
  name: z.string().optional(),
  email: z.string().optional(),
});

/** A person that may sign in. */
export type User = z.output<typeof user>;

/**
 * The people that may sign in, by their user names.
 *
 * @throws {StoreUnavailable} from every method, when the users file cannot be read.
 */
export interface Users {
  find(name: string): Promise<User | undefined>;
  /**
   * @returns `undefined` when the name is unknown or the password is wrong; both take the same time.
   * @throws {RpcError} RESOURCE_EXHAUSTED when too many checks wait.
   */
  check(name: string, password: string): Promise<User | undefined>;
  count(): Promise<number>;
}

const MIN_PASSWORD_CHARACTERS = 12;
const MAX_PASSWORD_CHARACTERS = 1_024;

/** The reason why a text cannot be a new password; `undefined` when it can. */
export const passwordProblem = (password: string): string | undefined => {
  const { length } = Array.from(password);
  if (length < MIN_PASSWORD_CHARACTERS) return `must have ${MIN_PASSWORD_CHARACTERS} characters or more`;
  return length > MAX_PASSWORD_CHARACTERS ? `must have ${MAX_PASSWORD_CHARACTERS} characters or fewer` : undefined;
};

/** Opens the users file at a path; it may be missing. */
export const usersFile = (path: string): RecordsFile<User> => recordsFile(path, 'users', user);

/** The users of a file, which each call reads again when it has changed. */
export const usersOf = (file: RecordsFile<User>): Users => {
  const find = async (name: string): Promise<User | undefined> => (await file.read()).get(name);
  return {
    find,
    check: async (name, password) => {
      const found = await find(name);
      // A longer text is no password of ours, and hashing megabytes would be a way to keep the process busy.
      if (password.length > 2 * MAX_PASSWORD_CHARACTERS) return undefined;
      return (await isPassword(password, found?.password)) ? found : undefined;
    },
    count: async () => (await file.read()).size,
  };
};
