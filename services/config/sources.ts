import { readFileSync } from 'node:fs';
import * as z from 'zod';
import { type GivenSetting, settings } from './configuration.js';
import { yaml } from './yaml.js';
import { InvalidConfiguration } from './operator-errors.js';

/** The variable with the path of the configuration file, like `--config`. */
const CONFIG = 'FLIGHTLOG_CONFIG';

/** `FLIGHTLOG_…` variables that are not settings: the path of the file, and those of clients, tests and benchmarks. */
const NOT_SETTINGS = /^FLIGHTLOG_(?:CONFIG$|(?:SERVER|PROFILE|TOKEN_FILE)$|TEST_|FAIL_POINT$|BENCH_|MUTATION_)/u;

/**
 * Names of variables that Kubernetes sets in pods for a Service `flightlog` or `flightlog-…`.
 *
 * @see https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables
 */
const SERVICE_LINK = /_SERVICE_(?:HOST|PORT(?:_[A-Z0-9_]+)?)$|_PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?$/u;

/** The address of a Service. Kubernetes puts it in a variable that ends with `_PORT`, as those of port settings do. */
const SERVICE_ADDRESS = /^(?:tcp|udp|sctp):\/\//u;

const isServiceLink = (variable: string, text: string): boolean =>
  SERVICE_LINK.test(variable) || (variable.endsWith('_PORT') && SERVICE_ADDRESS.test(text));

/** One setting, as the help and the reference list it. */
export type Setting = {
  /** The keys in the configuration file, from the outermost. */
  readonly path: readonly string[];
  readonly variable: string;
  /** The description, with names and values in backticks. */
  readonly description: string;
  /** The default as it is written in the file; `undefined` when there is none. */
  readonly byDefault: unknown;
  /** The value for an empty variable: an empty list, an empty mapping, or otherwise the empty text. */
  readonly whenEmpty: unknown;
};

const unwrap = (schema: unknown): unknown => {
  let inner = schema;
  while (inner instanceof z.ZodDefault || inner instanceof z.ZodPrefault) inner = inner.unwrap();
  return inner;
};

const emptyOf = (schema: unknown): unknown => {
  if (schema instanceof z.ZodArray) return [];
  // A list that is also taken as a text with commas: a pipe that begins with a transform of the text, or with the list.
  if (schema instanceof z.ZodPipe)
    return emptyOf(schema.def.in instanceof z.ZodTransform ? schema.def.out : schema.def.in);
  return schema instanceof z.ZodRecord || schema instanceof z.ZodObject ? {} : '';
};

const settingsIn = (shape: z.ZodRawShape, path: readonly string[]): Setting[] =>
  Object.entries(shape).flatMap(([key, schema]): Setting[] => {
    const settingPath = [...path, key];
    const inner = unwrap(schema);
    const description = (schema as z.ZodType).description;
    if (description === undefined && inner instanceof z.ZodObject) return settingsIn(inner.shape, settingPath);
    const byDefault =
      schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault ? schema.def.defaultValue : undefined;
    const variable = `FLIGHTLOG_${settingPath.join('_').toUpperCase()}`;
    return [{ path: settingPath, variable, description: description ?? '', byDefault, whenEmpty: emptyOf(inner) }];
  });

/** All settings, in the order of the schema. */
export const allSettings: readonly Setting[] = settingsIn(settings.shape, []);

const isWithin = (path: readonly string[], outer: readonly string[]): boolean =>
  outer.length <= path.length && outer.every((key, i) => key === path[i]);

/** True for a key whose value is a mapping of settings, a list or a mapping, and not a single value. */
const isCollective = (path: readonly string[]): boolean =>
  allSettings.some((setting) =>
    setting.path.length === path.length
      ? isWithin(path, setting.path) && setting.whenEmpty !== ''
      : isWithin(setting.path, path),
  );

/**
 * Settings that are refused when a file has their key without a value. Without those of authentication a server could
 * be open that its owner means to close, and without roles a process would have all of them.
 */
const mayNotBeEmpty = ([section]: readonly string[]): boolean => section === 'auth' || section === 'role';

/**
 * Lists the settings in a value of the file. The key of a section, list or mapping without a value is as if it were not
 * there, except where {@link mayNotBeEmpty}.
 */
const leaves = (value: unknown, path: readonly string[], origin: string): GivenSetting[] => {
  if (value === null && isCollective(path) && !mayNotBeEmpty(path)) return [];
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0
    ? Object.entries(value).flatMap(([key, inner]) => leaves(inner, [...path, key], origin))
    : [{ path, value, origin }];
};

/** The reason in one line; the YAML parser adds an excerpt of the text below it, which is left out. */
const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  return error.name === 'YAMLParseError' ? (error.message.split('\n', 1)[0] ?? '').replace(/:$/u, '') : error.message;
};

/** @throws {InvalidConfiguration} when the text is not YAML (JSON is YAML too). */
const parsed = (text: string, origin: string): unknown => {
  try {
    return yaml().parse(text);
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
 * Reads the settings in a YAML or JSON file; none without a file.
 *
 * @throws {InvalidConfiguration} when the file cannot be read, or is not a mapping in YAML.
 */
export const fromFile = (file: string | undefined): readonly GivenSetting[] => {
  if (file === undefined) return [];
  const content = parsed(textOf(file), file);
  if (content === null || content === undefined) return [];
  if (typeof content === 'object' && !Array.isArray(content)) return leaves(content, [], file);
  throw new InvalidConfiguration(`${file}: is not a mapping of settings`);
};

/**
 * The path of the configuration file that the environment gives, if any.
 *
 * @throws {InvalidConfiguration} when the variable is empty.
 */
export const fileInEnvironment = (environment: NodeJS.ProcessEnv): string | undefined => {
  const file = environment[CONFIG];
  if (file === '') throw new InvalidConfiguration(`${CONFIG}: is empty; give it the path of a file, or unset it`);
  return file;
};

const ownVariables = (environment: NodeJS.ProcessEnv): readonly (readonly [variable: string, text: string])[] =>
  Object.entries(environment).flatMap(([variable, text]) =>
    text === undefined || !variable.startsWith('FLIGHTLOG_') || NOT_SETTINGS.test(variable) ? [] : [[variable, text]],
  );

/** The names of `FLIGHTLOG_…` variables that Kubernetes sets as addresses of Services; they are ignored. */
export const serviceLinks = (environment: NodeJS.ProcessEnv): readonly string[] =>
  ownVariables(environment).flatMap(([variable, text]) => (isServiceLink(variable, text) ? [variable] : []));

/**
 * Reads the settings in `FLIGHTLOG_…` variables. Lists and mappings are YAML or JSON in brackets or braces, or a text
 * with commas where the setting takes one; for these, an empty variable is an empty list or mapping.
 *
 * @throws {InvalidConfiguration} when a variable is not a setting, or when a list or mapping is not valid YAML.
 */
export const fromEnvironment = (environment: NodeJS.ProcessEnv): readonly GivenSetting[] =>
  ownVariables(environment).flatMap(([variable, text]): GivenSetting[] => {
    if (isServiceLink(variable, text)) return [];
    const setting = allSettings.find((each) => each.variable === variable);
    if (setting === undefined) throw new InvalidConfiguration(`${variable}: is not a setting`);
    if (text === '') return [{ path: setting.path, value: setting.whenEmpty, origin: variable }];
    // A text, such as the subject of mail, may begin with a bracket or a brace, too.
    const isDocument = setting.whenEmpty !== '' && /^\s*[[{]/u.test(text);
    const value: unknown = isDocument ? parsed(text, variable) : text;
    return [{ path: setting.path, value, origin: variable }];
  });
