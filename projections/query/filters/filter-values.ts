import { invalid } from '../../../services/kernel/rpc.js';
import type { Column, ColumnKind } from '../columns.js';
import { enumNames } from '../enum-name.js';
import { isMisreadTime } from '../../../services/kernel/values/calendar-day.js';
import { indexed } from '../times.js';

/** A date, or a date and time; without a zone it is UTC. */
const TIME = /^(\d{4}-\d{2}-\d{2})(?:[Tt ](\d{2}:\d{2}(?::\d{2})?)(?:\.(\d{1,9}))?([Zz]|[+-]\d{2}:\d{2})?)?$/u;
const WHOLE = /^-?\d{1,15}$/u;
const DECIMAL = /^-?(\d{1,12}(\.\d{0,12})?|\.\d{1,12})$/u;
const GO_DURATION = /^[+-]?((\d{1,12}(\.\d{0,12})?|\.\d{1,12})(ns|us|µs|μs|ms|s|m|h))+$/u;
const GO_PART = /([\d.]+)(ns|us|µs|μs|ms|s|m|h)/gu;

const MICROS: Readonly<Record<string, number>> = {
  ns: 0.001,
  us: 1,
  µs: 1,
  μs: 1,
  ms: 1_000,
  s: 1_000_000,
  m: 60_000_000,
  h: 3_600_000_000,
};

const number = (field: string, text: string): number => {
  if (!WHOLE.test(text)) throw invalid(field, `'${text}' is not a whole number`);
  return Number(text);
};

const time = (field: string, text: string): number => {
  const [, day = '', clock = '00:00', fraction = '', zone = 'Z'] = TIME.exec(text) ?? [];
  const milliseconds = Date.parse(`${day}T${clock}${zone.toUpperCase()}`);
  if (Number.isNaN(milliseconds) || isMisreadTime(text))
    throw invalid(field, `'${text}' is not a timestamp as RFC 3339 has it`);
  return indexed(milliseconds * 1_000 + Number(fraction.padEnd(6, '0').slice(0, 6)));
};

const duration = (field: string, text: string): number => {
  if (DECIMAL.test(text)) return indexed(Math.round(Number(text) * 1_000_000));
  if (!GO_DURATION.test(text)) throw invalid(field, `Failed to parse duration [${text}]`);
  const micros = Array.from(text.matchAll(GO_PART), ([, count, unit = '']) => Number(count) * (MICROS[unit] ?? 0));
  const sum = indexed(Math.round(micros.reduce((a, b) => a + b, 0)));
  return text.startsWith('-') ? -sum : sum;
};

const asIs = (_: string, text: string): string => text;

/** Characters of a value that an error message quotes. */
const SHOWN = 100;

const CONVERSIONS: Readonly<Record<ColumnKind, (field: string, text: string) => string | number>> = {
  text: asIs,
  opaque: asIs,
  number,
  time,
  duration,
};

const enumNumber = (names: NonNullable<Column['names']>, field: string, text: string): number => {
  const named = Object.hasOwn(names, text) ? names[text] : undefined;
  if (typeof named === 'number') return named;
  if (WHOLE.test(text)) return Number(text);
  throw invalid(field, `'${text}' is neither a whole number nor one of ${enumNames(names).join(', ')}`);
};

/**
 * Converts the text of a filter's value to a value of the column.
 *
 * @throws {RpcError} INVALID_ARGUMENT naming the field.
 */
export const filterValue = ({ kind, names }: Column, field: string, text: string): string | number => {
  const isShowable = kind === 'text' || kind === 'opaque' || text.length <= SHOWN;
  if (!isShowable) throw invalid(field, `'${text.slice(0, SHOWN)}…' is too long for it`);
  return names ? enumNumber(names, field, text) : CONVERSIONS[kind](field, text);
};
