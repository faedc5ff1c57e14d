import { readFileSync } from 'node:fs';
import { parse, YAMLParseError } from 'yaml';
import { z } from 'zod';
import { type Given, settings } from './configuration.js';
import { InvalidConfiguration } from './operator-errors.js';

/** Names the file of settings, as `--config` does. */
const CONFIG = 'FLIGHTLOG_CONFIG';

/** Variables that begin like settings and are none: the file of settings, and what tests and benchmarks use. */
const NOT_SETTINGS = /^FLIGHTLOG_(?:CONFIG$|TEST_|FAIL_POINT$|BENCH_)/u;

/**
 * Names that Kubernetes gives to what it puts into every pod for a Service `flightlog` or `flightlog-…`.
 *
 * @see https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables
 */
const SERVICE_LINK = /_SERVICE_(?:HOST|PORT(?:_[A-Z0-9_]+)?)$|_PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?$/u;

/** The address of a Service; it stands in `…_PORT`, where settings have a number. */
const SERVICE_ADDRESS = /^(?:tcp|udp|sctp):\/\//u;

const isServiceLink = (variable: string, text: string): boolean =>
  SERVICE_LINK.test(variable) || (variable.endsWith('_PORT') && SERVICE_ADDRESS.test(text));

/** One setting: its path in the file, its variable, what it is, and what it is where nobody says. */
export type Setting = {
  readonly path: readonly string[];
  readonly variable: string;
  readonly about: string;
  readonly byDefault: unknown;
  /** What an empty variable means, where the setting is a list or a mapping; a text otherwise. */
  readonly whenEmpty: unknown;
};

const unwrap = (schema: unknown): unknown => {
  let inner = schema;
  while (inner instanceof z.ZodDefault || inner instanceof z.ZodPrefault) inner = inner.unwrap();
  return inner;
};

const emptyOf = (schema: unknown): unknown => {
  if (schema instanceof z.ZodArray) return [];
  return schema instanceof z.ZodRecord ? {} : '';
};

const settingsIn = (shape: z.ZodRawShape, path: readonly string[]): Setting[] =>
  Object.entries(shape).flatMap(([key, schema]): Setting[] => {
    const here = [...path, key];
    const inner = unwrap(schema);
    const about = (schema as z.ZodType).description;
    if (about === undefined && inner instanceof z.ZodObject) return settingsIn(inner.shape, here);
    const byDefault = schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault ? schema.def.defaultValue : '';
    const variable = `FLIGHTLOG_${here.join('_').toUpperCase()}`;
    return [{ path: here, variable, about: about ?? '', byDefault, whenEmpty: emptyOf(inner) }];
  });

/** All settings, in the order of the schema. */
export const allSettings: readonly Setting[] = settingsIn(settings.shape, []);

const leaves = (value: unknown, path: readonly string[], origin: string): Given[] =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0
    ? Object.entries(value).flatMap(([key, inner]) => leaves(inner, [...path, key], origin))
    : [{ path, value, origin }];

/** What is wrong, in one line: the parser shows the text below it. */
const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  return error instanceof YAMLParseError ? (error.message.split('\n', 1)[0] ?? '').replace(/:$/u, '') : error.message;
};

/** @throws {InvalidConfiguration} when the text is not YAML, of which JSON is a part. */
const parsed = (text: string, origin: string): unknown => {
  try {
    return parse(text);
  } catch (error) {
    throw new InvalidConfiguration(`${origin}: ${reasonOf(error)}`, { cause: error });
  }
};

const textOf = (file: string): string => {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new InvalidConfiguration(`${file}: ${reasonOf(error)}`, { cause: error });
  }
};

/**
 * The settings in a YAML or JSON file; none where no file is named.
 *
 * @throws {InvalidConfiguration} when the file cannot be read or is not a mapping.
 */
export const fromFile = (file: string | undefined): readonly Given[] => {
  if (file === undefined) return [];
  const content = parsed(textOf(file), file);
  if (content === null || content === undefined) return [];
  if (typeof content === 'object' && !Array.isArray(content)) return leaves(content, [], file);
  throw new InvalidConfiguration(`${file}: is not a mapping of settings`);
};

/** The file of settings that the environment names. */
export const fileInEnvironment = (environment: NodeJS.ProcessEnv): string | undefined => environment[CONFIG];

const ownVariables = (environment: NodeJS.ProcessEnv): readonly (readonly [variable: string, text: string])[] =>
  Object.entries(environment).flatMap(([variable, text]) =>
    text === undefined || !variable.startsWith('FLIGHTLOG_') || NOT_SETTINGS.test(variable) ? [] : [[variable, text]],
  );

/** The variables that look like settings and are the addresses of Services in Kubernetes: they are ignored. */
export const serviceLinks = (environment: NodeJS.ProcessEnv): readonly string[] =>
  ownVariables(environment).flatMap(([variable, text]) => (isServiceLink(variable, text) ? [variable] : []));

/**
 * The settings in `FLIGHTLOG_…` variables. Lists and mappings are written as YAML or JSON; an empty text is an empty one.
 *
 * @throws {InvalidConfiguration} when a variable is no setting, or its text is not YAML where that is expected.
 */
export const fromEnvironment = (environment: NodeJS.ProcessEnv): readonly Given[] =>
  ownVariables(environment).flatMap(([variable, text]): Given[] => {
    if (isServiceLink(variable, text)) return [];
    const setting = allSettings.find((each) => each.variable === variable);
    if (setting === undefined) throw new InvalidConfiguration(`${variable}: is not a setting`);
    if (text === '') return [{ path: setting.path, value: setting.whenEmpty, origin: variable }];
    // Two braces begin a placeholder in a text, and no mapping.
    const value: unknown = /^\s*(?:\[|\{(?!\{))/u.test(text) ? parsed(text, variable) : text;
    return [{ path: setting.path, value, origin: variable }];
  });
