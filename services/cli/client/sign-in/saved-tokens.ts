import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import * as z from 'zod';
import { OperatorError } from '../../../config/operator-errors.js';
import { createPrivateFolder } from '../../../store/create-folder.js';
import type { Profile } from '../connection/profile.js';
import { errorText } from '../../../kernel/error-text.js';

/** Tokens that are about to expire are not sent. */
const MARGIN_MS = 30_000;

const file = z.record(
  z.string(),
  z.object({ accessToken: z.string(), expiresAt: z.number(), refreshToken: z.string().optional() }),
);

type File = z.infer<typeof file>;

/** The tokens of a person for one server; the time is in milliseconds since 1970. */
export type SavedTokens = File[string];

type Address = Profile['address'];

/** The file of the tokens of a person. */
export const tokensFile = (): string => {
  const { XDG_STATE_HOME: state = '' } = process.env;
  return join(state === '' ? join(homedir(), '.local', 'state') : state, 'flightlog', 'tokens.json');
};

const keyOf = (address: Address): string =>
  address.kind === 'rest' ? address.url : `${address.isPlain ? 'grpc' : 'grpcs'}://${address.target}`;

/** A file that is missing or damaged has no tokens: the person signs in again. */
const readAll = (): File => {
  try {
    return file.parse(JSON.parse(readFileSync(tokensFile(), 'utf8')));
  } catch {
    return {};
  }
};

const writeAll = (all: File): void => {
  const path = tokensFile();
  createPrivateFolder(dirname(path));
  writeFileSync(`${path}.${process.pid}`, JSON.stringify(all, null, 1), { mode: 0o600 });
  renameSync(`${path}.${process.pid}`, path);
};

/** The tokens that were saved for a server. */
export const savedTokens = (address: Address): SavedTokens | undefined => readAll()[keyOf(address)];

/** The access token that was saved for a server, unless it has expired or is about to. */
export const savedToken = (address: Address): string | undefined => {
  const tokens = savedTokens(address);
  return tokens && tokens.expiresAt - MARGIN_MS > Date.now() ? tokens.accessToken : undefined;
};

/** Saves the tokens for a server in a file that only the person can read; where that is impossible, says so. */
export const saveTokens = (address: Address, tokens: SavedTokens): void => {
  try {
    writeAll({ ...readAll(), [keyOf(address)]: tokens });
  } catch (error) {
    const reason = errorText(error);
    process.stderr.write(`flightlog: the next command signs in again, because the tokens cannot be saved: ${reason}\n`);
  }
};

/**
 * Removes the tokens for a server, and returns them; `undefined` when there were none.
 *
 * @throws {OperatorError} when the file cannot be written.
 */
export const forgetTokens = (address: Address): SavedTokens | undefined => {
  const { [keyOf(address)]: forgotten, ...others } = readAll();
  if (!forgotten) return undefined;
  try {
    writeAll(others);
  } catch (cause) {
    throw new OperatorError(`the tokens cannot be removed from ${tokensFile()}: ${errorText(cause)}`, { cause });
  }
  return forgotten;
};
