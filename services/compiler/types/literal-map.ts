import type { Timestamp } from '@bufbuild/protobuf/wkt';

import type { Literal, LiteralMap, Scalar } from '../../../proto/gen/platformidl/core/literals_pb.js';

/** The first and last second of a valid timestamp: the years 1 to 9999. */
const MIN_SECONDS = -62_135_596_800n;
const MAX_SECONDS = 253_402_300_799n;

const isTimestamp = ({ seconds, nanos }: Timestamp): boolean =>
  seconds >= MIN_SECONDS && seconds <= MAX_SECONDS && nanos >= 0 && nanos <= 999_999_999;

const scalarDatesAreValid = ({ value }: Scalar): boolean => {
  if (value.case === 'union') return value.value.value === undefined || datesAreValid(value.value.value);
  if (value.case !== 'primitive' || value.value.value.case !== 'datetime') return true;
  return isTimestamp(value.value.value.value);
};

const datesAreValid = ({ value }: Literal): boolean => {
  switch (value.case) {
    case 'scalar':
      return scalarDatesAreValid(value.value);
    case 'collection':
      return value.value.literals.every(datesAreValid);
    case 'map':
      return Object.values(value.value.literals).every(datesAreValid);
    default:
      return true;
  }
};

/**
 * Checks that a literal has a value, and that every datetime in it is valid.
 *
 * @param place names the literal in the text.
 * @returns the problem; `undefined` when there is none.
 */
export const literalProblem = (place: string, literal: Literal | undefined): string | undefined => {
  if (literal?.value.case === undefined) return `missing valid literal in ${place}`;
  if (datesAreValid(literal)) return undefined;
  return `invalid datetime in ${place}: outside the years 1 to 9999, or its nanos outside 0 to 999999999`;
};

/**
 * Checks every name and every literal of a map of literals.
 *
 * @param field names the map in the text.
 * @returns the first problem; `undefined` when there is none.
 */
export const literalMapProblem = (field: string, map: LiteralMap | undefined): string | undefined => {
  for (const [name, literal] of Object.entries(map?.literals ?? {})) {
    const found = name === '' ? `missing key in ${field}` : literalProblem(`${field} ${name}`, literal);
    if (found !== undefined) return found;
  }
  return undefined;
};
