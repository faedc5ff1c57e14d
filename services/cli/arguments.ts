import { InvalidArgumentError } from 'commander';
import { FILTER_FIELDS, type EventCondition } from '../reactors/export-to-kafka/selection.js';
import { duration } from '../config/setting-kinds.js';
import { isMisreadTime } from '../kernel/values/calendar-day.js';

/** The largest number that a field of 32 bits of a request can hold, without a sign. */
const MAX_NUMBER = 4_294_967_295;

const MAX_PORT = 65_535;

/** The largest position that a log can have: 64 bits with a sign. */
const MAX_POSITION = 2n ** 63n - 1n;

/**
 * Parses the text after a flag: a whole number that 32 bits can hold.
 *
 * @throws {InvalidArgumentError} as all parsers of this file do; commander prints its message.
 */
export const wholeNumber = (text: string): number => {
  if (!/^\d+$/u.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  if (Number(text) > MAX_NUMBER) throw new InvalidArgumentError(`It must be at most ${MAX_NUMBER}.`);
  return Number(text);
};

export const oneOrMore = (text: string): number => {
  const value = wholeNumber(text);
  if (value === 0) throw new InvalidArgumentError('It must be 1 or more.');
  return value;
};

const positionIn = (text: string, rule: string): bigint => {
  if (!/^\d+$/u.test(text)) throw new InvalidArgumentError(rule);
  if (BigInt(text) > MAX_POSITION) throw new InvalidArgumentError(`It must be at most ${MAX_POSITION}.`);
  return BigInt(text);
};

export const position = (text: string): bigint => positionIn(text, 'It must be a position, a whole number.');

/** Parses a position, or `end`. */
export const logPosition = (text: string): bigint | 'end' =>
  text === 'end' ? text : positionIn(text, 'It must be a position, a whole number, or end.');

/** Adds a text to those of earlier uses of the flag. */
export const appended = (text: string, before: readonly string[] = []): readonly string[] => [...before, text];

/** Adds names, separated by commas, to those of earlier uses of the flag. */
export const names = (text: string, before: readonly string[] = []): readonly string[] => {
  const given = text.split(',').map((name) => name.trim());
  if (given.includes('')) throw new InvalidArgumentError('It must be a name, or several with commas between them.');
  return [...before, ...given];
};

const INSTANT = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2}))?$/u;

const timeIn = (text: string, rule: string): number => {
  const ms = INSTANT.test(text) && !isMisreadTime(text) ? Date.parse(text) : NaN;
  if (Number.isNaN(ms)) throw new InvalidArgumentError(rule);
  return ms;
};

/** Parses a time of ISO 8601 with its zone, or a date, which begins in UTC; returns milliseconds since 1970. */
export const time = (text: string): number => timeIn(text, 'It must be a time such as 2026-03-02T09:58:16Z.');

/**
 * Parses a time as {@link time} does, or a duration before now; returns milliseconds since 1970. Times before 1970
 * become 1970, because no log has events from before.
 */
export const pastTime = (text: string): number => {
  const rule = 'It must be a time such as 2026-03-02T09:58:16Z, or how long ago, such as 15m.';
  const ago = duration.safeParse(text);
  return Math.max(0, ago.success ? Date.now() - ago.data : timeIn(text, rule));
};

export const probability = (text: string): number => {
  const value = Number(text);
  if (text === '' || !(value >= 0 && value <= 1)) throw new InvalidArgumentError('It must be between 0 and 1.');
  return value;
};

export const hostAndPort = (text: string): string => {
  const [, port] = /^.+:(\d{1,5})$/u.exec(text) ?? [];
  if (port === undefined) throw new InvalidArgumentError('It must be HOST:PORT.');
  if (Number(port) === 0 || Number(port) > MAX_PORT)
    throw new InvalidArgumentError(`Its port must be from 1 to ${MAX_PORT}.`);
  return text;
};

export const executionPath = (text: string): string => {
  if (!/^[^/]+\/[^/]+\/[^/]+$/u.test(text)) throw new InvalidArgumentError('It must be PROJECT/DOMAIN/NAME.');
  return text;
};

/** Parses a duration; returns milliseconds. */
export const durationOf = (text: string): number => {
  const { success, data, error } = duration.safeParse(text);
  if (!success) throw new InvalidArgumentError(`It ${error.issues[0]?.message ?? 'must be a duration'}.`);
  return data;
};

/** Adds one filter `FIELD=VALUE` to those of earlier uses of the flag. */
export const filter = (text: string, before: readonly EventCondition[]): readonly EventCondition[] => {
  const [, name, value] = /^(\w+)=(.+)$/u.exec(text) ?? [];
  const field = FILTER_FIELDS.find((each) => each === name);
  if (field === undefined || value === undefined)
    throw new InvalidArgumentError(`It must be FIELD=VALUE, with one of ${FILTER_FIELDS.join(', ')}.`);
  return [...before, { field, value }];
};
