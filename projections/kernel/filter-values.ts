import { invalid } from '../../services/kernel/rpc.js';
import type { ColumnKind } from './columns.js';

const RFC_3339 = /^(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?([Zz]|[+-]\d{2}:\d{2})$/u;
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

const isDay = (day: string): boolean => {
  const at = Date.parse(`${day}T00:00:00Z`);
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(day);
};

const time = (field: string, text: string): number => {
  const [, day = '', clock, fraction = '', zone = ''] = RFC_3339.exec(text) ?? [];
  const seconds = Date.parse(`${day}T${clock ?? ''}${zone.toUpperCase()}`);
  if (Number.isNaN(seconds) || !isDay(day)) throw invalid(field, `'${text}' is not a timestamp as RFC 3339 has it`);
  return seconds * 1_000 + Number(fraction.padEnd(6, '0').slice(0, 6));
};

const duration = (field: string, text: string): number => {
  if (DECIMAL.test(text)) return Math.round(Number(text) * 1_000_000);
  if (!GO_DURATION.test(text)) throw invalid(field, `Failed to parse duration [${text}]`);
  const micros = Array.from(text.matchAll(GO_PART), ([, count, unit = '']) => Number(count) * (MICROS[unit] ?? 0));
  const sum = Math.round(micros.reduce((a, b) => a + b, 0));
  return text.startsWith('-') ? -sum : sum;
};

/** What makes of a filter's text the value of a field, by the kind of the column. Each names the field in its error. */
export const VALUE_OF: Readonly<Record<ColumnKind, (field: string, text: string) => string | number>> = {
  text: (_, text) => text,
  number,
  time,
  duration,
};
