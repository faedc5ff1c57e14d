const PRIME = 0x00000100000001b3n;
const BASIS = 0xcbf29ce484222325n;
const MASK = (1n << 64n) - 1n;

/**
 * FlyteAdmin writes the hash, its lowest byte first, into the first half of a UUID whose second half is zero, and takes
 * the first 19 digits of it: 16 of the hash and these.
 */
const NAME_ZEROS = '000';

/** The 64-bit FNV-1 hash of a text. */
const fnv1 = (text: string): bigint =>
  new TextEncoder().encode(text).reduce((hash, byte) => ((hash * PRIME) & MASK) ^ BigInt(byte), BASIS);

/** The version of a launch plan. */
export type TickOwner = {
  readonly project: string;
  readonly domain: string;
  readonly name: string;
  readonly version: string;
};

/**
 * The name of the execution that a tick launches. FlyteAdmin's scheduler gives the same name, so that a tick that both
 * fire is one execution.
 */
export const tickName = ({ project, domain, name, version }: TickOwner, tickMs: number): string => {
  const bytes = new DataView(new ArrayBuffer(8));
  bytes.setBigUint64(0, fnv1(`${project}:${domain}:${name}:${version}:${Math.floor(tickMs / 1_000)}`), true);
  return `f${bytes.getBigUint64(0).toString(16).padStart(16, '0')}${NAME_ZEROS}`;
};
