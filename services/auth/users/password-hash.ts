import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { RpcError } from '../../kernel/rpc.js';

/**
 * Cost of a hash: 32 MiB of memory, and about 0.2 s of one core.
 *
 * @see https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html#scrypt
 */
const COST = { ln: 15, r: 8, p: 3 };

const SALT_BYTES = 16;
const HASH_BYTES = 32;
const MEMORY_PER_BLOCK_BYTES = 128;

type Cost = typeof COST;

const derive = promisify(
  (password: string, salt: Buffer, { ln, r, p }: Cost, done: (error: Error | null, hash: Buffer) => void) =>
    scrypt(
      password.normalize('NFKC'),
      salt,
      HASH_BYTES,
      { N: 2 ** ln, r, p, maxmem: 2 * MEMORY_PER_BLOCK_BYTES * 2 ** ln * r },
      done,
    ),
);

const text = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/u, '');

/** Hashes a password with a salt of its own, in the PHC string format: `$scrypt$ln=15,r=8,p=3$<salt>$<hash>`. */
export const hashPassword = async (password: string, cost: Cost = COST): Promise<string> => {
  const salt = randomBytes(SALT_BYTES);
  const hash = await derive(password, salt, cost);
  return `$scrypt$ln=${cost.ln},r=${cost.r},p=${cost.p}$${text(salt)}$${text(hash)}`;
};

const PATTERN = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{16,64})\$([A-Za-z0-9+/]{43})$/u;
const MAX_LN = 18;

/** True when the text is a hash as {@link hashPassword} makes it, whose `ln` does not ask for too much memory. */
export const isPasswordHash = (hash: string): boolean => Number(PATTERN.exec(hash)?.[1] ?? Infinity) <= MAX_LN;

// A hash that no password has: checking against it takes as long as against the hash of a user.
const NOBODY = `$scrypt$ln=${COST.ln},r=${COST.r},p=${COST.p}$${text(randomBytes(SALT_BYTES))}$${text(randomBytes(HASH_BYTES))}`;

const AT_A_TIME = 2;
/** About five seconds of checks. */
const MAX_WAITING = 50;
const RETRY_MS = 5_000;

/** Runs at most two tasks at a time, because each takes 32 MiB or more; 50 others wait, and more are refused. */
const queue = () => {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async <Result>(task: () => Promise<Result>): Promise<Result> => {
    if (waiting.length >= MAX_WAITING)
      throw new RpcError('RESOURCE_EXHAUSTED', 'too many passwords are being checked, try again later', [], RETRY_MS);
    if (running < AT_A_TIME) running += 1;
    else await new Promise<void>((resolve) => waiting.push(resolve)); // a task that ends leaves its place to this one
    try {
      return await task();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  };
};

const inTurn = queue();

/**
 * True when the password is the one that was hashed.
 *
 * @param hash `undefined` for a user that does not exist: the check takes the same time, and fails.
 * @throws {RpcError} RESOURCE_EXHAUSTED when too many checks wait.
 */
export const isPassword = async (password: string, hash: string | undefined): Promise<boolean> => {
  const [, ln, r, p, salt = '', expected = ''] = PATTERN.exec(hash ?? NOBODY) ?? [];
  const cost = { ln: Number(ln), r: Number(r), p: Number(p) };
  const actual = await inTurn(() => derive(password, Buffer.from(salt, 'base64'), cost));
  return timingSafeEqual(actual, Buffer.from(expected, 'base64')) && hash !== undefined;
};
