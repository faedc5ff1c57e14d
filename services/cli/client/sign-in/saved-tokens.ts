import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import type { Profile } from '../connection/profile.js';

/** Tokens that are about to expire are not sent. */
const MARGIN_MS = 30_000;

const saved = z.record(
  z.string(),
  z.object({ accessToken: z.string(), expiresAt: z.number(), refreshToken: z.string().optional() }),
);

/** The tokens of a person for one server; the time is in milliseconds since 1970. */
export type SavedTokens = z.infer<typeof saved>[string];

type Address = Profile['address'];

const fileOf = (): string => {
  const { XDG_STATE_HOME: state = '' } = process.env;
  return join(state === '' ? join(homedir(), '.local', 'state') : state, 'flightlog', 'tokens.json');
};

const keyOf = (address: Address): string =>
  address.kind === 'rest' ? address.url : `${address.isPlain ? 'grpc' : 'grpcs'}://${address.target}`;

/** A file that is missing or damaged has no tokens: the person signs in again. */
const readAll = (): z.infer<typeof saved> => {
  try {
    return saved.parse(JSON.parse(readFileSync(fileOf(), 'utf8')));
  } catch {
    return {};
  }
};

/** The tokens that were saved for a server. */
export const savedTokens = (address: Address): SavedTokens | undefined => readAll()[keyOf(address)];

/** The access token that was saved for a server, unless it has expired. */
export const savedToken = (address: Address): string | undefined => {
  const tokens = savedTokens(address);
  return tokens && tokens.expiresAt - MARGIN_MS > Date.now() ? tokens.accessToken : undefined;
};

/** Saves the tokens for a server in a file that only the person can read. */
export const saveTokens = (address: Address, tokens: SavedTokens): void => {
  const file = fileOf();
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const text = JSON.stringify({ ...readAll(), [keyOf(address)]: tokens }, null, 1);
  writeFileSync(`${file}.${process.pid}`, text, { mode: 0o600 });
  renameSync(`${file}.${process.pid}`, file);
};
