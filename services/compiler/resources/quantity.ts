/**
 * An exact amount, as a fraction: `1n` and `1Ei` are both quantities, and a floating-point number cannot hold their
 * sum.
 */
export type Quantity = { readonly numerator: bigint; readonly denominator: bigint };

/**
 * The longest accepted text, in characters. Kubernetes limits quantities to 64 bits, which need fewer digits.
 */
const MAX_LENGTH = 64;
const MAX_EXPONENT = 30n;

const PATTERN = /^([+-]?)(\d+\.?\d*|\.\d+)(?:[eE]([+-]?\d{1,3})|([numkMGTPE]|[KMGTPE]i))?$/;

const DECIMAL: Readonly<Record<string, bigint>> = {
  n: -9n,
  u: -6n,
  m: -3n,
  k: 3n,
  M: 6n,
  G: 9n,
  T: 12n,
  P: 15n,
  E: 18n,
};
const BINARY: Readonly<Record<string, bigint>> = { Ki: 10n, Mi: 20n, Gi: 30n, Ti: 40n, Pi: 50n, Ei: 60n };

/** Ten to the power of `exponent`, which may be negative. */
const powerOfTen = (exponent: bigint): Quantity =>
  exponent < 0n ? { numerator: 1n, denominator: 10n ** -exponent } : { numerator: 10n ** exponent, denominator: 1n };

const scaleOf = (power: string | undefined, suffix: string): Quantity | undefined => {
  const bits = BINARY[suffix];
  if (bits !== undefined) return { numerator: 1n << bits, denominator: 1n };
  const exponent = power === undefined ? (DECIMAL[suffix] ?? 0n) : BigInt(power.replace('+', ''));
  return exponent > MAX_EXPONENT || exponent < -MAX_EXPONENT ? undefined : powerOfTen(exponent);
};

const fractionOf = (number: string): Quantity => {
  const [whole = '', fraction = ''] = number.split('.');
  return { numerator: BigInt(`${whole}${fraction}`), denominator: 10n ** BigInt(fraction.length) };
};

/** Parses a Kubernetes quantity (`500m`, `1Gi`, `2e3`); `undefined` when the text is not one. */
export const parseQuantity = (text: string): Quantity | undefined => {
  const match = text.length <= MAX_LENGTH ? PATTERN.exec(text) : null;
  if (match === null) return undefined;
  const [, sign, number = '', power, suffix = ''] = match;
  const scale = scaleOf(power, suffix);
  if (scale === undefined) return undefined;
  const { numerator, denominator } = fractionOf(number);
  const signed = sign === '-' ? -numerator : numerator;
  return { numerator: signed * scale.numerator, denominator: denominator * scale.denominator };
};

export const isWhole = ({ numerator, denominator }: Quantity): boolean => numerator % denominator === 0n;

/**
 * The quantity rounded up to an integer, by which limits of resources are compared: `500m` and `1` are equal.
 */
export const roundedUp = ({ numerator, denominator }: Quantity): bigint => {
  const floor = numerator / denominator;
  return numerator % denominator > 0n ? floor + 1n : floor;
};
