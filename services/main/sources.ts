import { readFileSync } from 'node:fs';
import { parse, YAMLParseError } from 'yaml';
import { z } from 'zod';
import { type Given, InvalidConfiguration, settings } from './configuration.js';

/** Variables that begin like settings and are none: they belong to tests and benchmarks. */
const NOT_SETTINGS = /^FLIGHTLOG_(?:TEST_|FAIL_POINT$|BENCH_)/u;

/** One setting: its path in the file, its variable, and what it is. */
export type Setting = { readonly path: readonly string[]; readonly variable: string; readonly about: string };

const unwrap = (schema: unknown): unknown => {
  let inner = schema;
  while (inner instanceof z.ZodDefault || inner instanceof z.ZodPrefault) inner = inner.unwrap();
  return inner;
};

const settingsIn = (shape: z.ZodRawShape, path: readonly string[]): Setting[] =>
  Object.entries(shape).flatMap(([key, schema]): Setting[] => {
    const here = [...path, key];
    const inner = unwrap(schema);
    const about = (schema as z.ZodType).description;
    if (about === undefined && inner instanceof z.ZodObject) return settingsIn(inner.shape, here);
    return [{ path: here, variable: `FLIGHTLOG_${here.join('_').toUpperCase()}`, about: about ?? '' }];
  });

/** All settings, in the order of the schema. */
export const allSettings: readonly Setting[] = settingsIn(settings.shape, []);

const leaves = (value: unknown, path: readonly string[], origin: string): Given[] =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0
    ? Object.entries(value).flatMap(([key, inner]) => leaves(inner, [...path, key], origin))
    : [{ path, value, origin }];

/**
 * The settings in a YAML or JSON file.
 *
 * @throws {InvalidConfiguration} when the file cannot be read or is not a mapping.
 */
export const fromFile = (file: string): readonly Given[] => {
  try {
    const content: unknown = parse(readFileSync(file, 'utf8'));
    if (content === null || content === undefined) return [];
    if (typeof content === 'object' && !Array.isArray(content)) return leaves(content, [], file);
  } catch (error) {
    const why = error instanceof YAMLParseError ? error.message : (error as Error).message;
    throw new InvalidConfiguration(`${file}: ${why}`, { cause: error });
  }
  throw new InvalidConfiguration(`${file}: is not a mapping of settings`);
};

/** The settings in `FLIGHTLOG_…` variables. Lists and mappings are written as YAML or JSON. */
export const fromEnvironment = (environment: NodeJS.ProcessEnv): readonly Given[] =>
  Object.entries(environment).flatMap(([variable, text]): Given[] => {
    if (text === undefined || !variable.startsWith('FLIGHTLOG_') || NOT_SETTINGS.test(variable)) return [];
    const setting = allSettings.find((each) => each.variable === variable);
    if (setting === undefined) throw new InvalidConfiguration(`${variable}: is not a setting`);
    const value: unknown = /^\s*[[{]/u.test(text) ? parse(text) : text;
    return [{ path: setting.path, value, origin: variable }];
  });
