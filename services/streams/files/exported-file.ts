/** The positions of the first and the last event of a file. Between them no other file of the export has an event. */
export type PositionRange = { readonly first: bigint; readonly last: bigint };

/** As text, positions of equal length sort like their numbers. */
const DIGITS = 20;

const NAME = /^(?:date=\d{4}-\d{2}-\d{2}\/)?events-(\d{20})-(\d{20})\.[a-z]+$/u;

const digitsOf = (position: bigint): string => position.toString().padStart(DIGITS, '0');

/** The path of a file, such as `date=2026-03-02/events-00000000000000000001-00000000000000000812.parquet`. */
export const exportedPath = ({ first, last }: PositionRange, extension: string, date?: string): string =>
  `${date === undefined ? '' : `date=${date}/`}events-${digitsOf(first)}-${digitsOf(last)}.${extension}`;

/** The range in the path of a file; `undefined` for a path that no export has made. */
export const positionRangeOf = (path: string): PositionRange | undefined => {
  const [, first, last] = NAME.exec(path) ?? [];
  return first === undefined || last === undefined ? undefined : { first: BigInt(first), last: BigInt(last) };
};
