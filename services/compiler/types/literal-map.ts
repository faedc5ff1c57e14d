import type { Literal, LiteralMap, Scalar } from '../../../proto/gen/platformidl/core/literals_pb.js';
import { isTimestamp } from '../../kernel/values/time-range.js';

const scalarDatesAreValid = ({ value }: Scalar): boolean => {
  if (value.case === 'union') return value.value.value === undefined || datesAreValid(value.value.value);
  if (value.case !== 'primitive' || value.value.value.case !== 'datetime') return true;
  const { seconds, nanos } = value.value.value.value;
  return isTimestamp(Number(seconds), nanos);
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
