import type { DescField, DescMessage, JsonObject, JsonValue } from '@bufbuild/protobuf';

import { invalid, type RpcError } from '../../kernel/rpc.js';
import { fieldPath } from '../field-path.js';
import type { BindingMatch, PathValue } from './bindings.js';
import { valueJson } from './values.js';

const nameOf = (path: readonly DescField[]): string => path.map(({ name }) => name).join('.');

const givenTwice = (path: readonly DescField[]): RpcError => invalid(nameOf(path), 'given more than once');

const isObject = (json: JsonValue): json is JsonObject =>
  typeof json === 'object' && json !== null && !Array.isArray(json);

/**
 * Returns the object that contains the last field of a path; creates missing objects on the way.
 *
 * @throws {RpcError} INVALID_ARGUMENT when a message on the way was given as one value, such as a duration.
 */
const holder = (root: JsonObject, path: readonly DescField[]): JsonObject => {
  let within = root;
  for (const { name } of path.slice(0, -1)) {
    const inner = (within[name] ??= {});
    if (!isObject(inner)) throw givenTwice(path);
    within = inner;
  }
  return within;
};

const put = (root: JsonObject, path: readonly DescField[], value: JsonValue): void => {
  const last = path.at(-1);
  if (!last) return;
  const within = holder(root, path);
  if (within[last.name] !== undefined) throw givenTwice(path);
  within[last.name] = value;
};

/** The entries of a list. An empty text is none, because forms send their fields without a value, too (`phases=`). */
const entriesOf = (field: DescField, name: string, texts: readonly string[]): JsonValue[] =>
  texts.filter((text) => text !== '').map((text) => valueJson(field, name, text));

const putQuery = (root: JsonObject, path: readonly DescField[], key: string | undefined, texts: string[]): void => {
  const field = path.at(-1);
  const [first] = texts;
  if (!field || first === undefined) return;
  if (field.fieldKind === 'map') {
    if (key === undefined) throw invalid(nameOf(path), `a map is given as ${field.name}[key]=value`);
    if (texts.length > 1) throw invalid(nameOf(path), `${key} is given more than once`);
    const within = holder(root, path);
    ((within[field.name] ??= Object.create(null) as JsonObject) as JsonObject)[key] = valueJson(
      field,
      nameOf(path),
      first,
    );
  } else if (field.fieldKind === 'list') {
    const given = entriesOf(field, nameOf(path), texts);
    if (given.length > 0) put(root, path, given);
  } else {
    if (texts.length > 1) throw givenTwice(path);
    put(root, path, valueJson(field, nameOf(path), first));
  }
};

/** Resolves the field of a parameter, with the key of a map entry (`field[key]`). */
const parameterOf = (
  type: DescMessage,
  parameter: string,
): { readonly fields: readonly DescField[] | undefined; readonly key: string | undefined } => {
  const [, path = parameter, key] = /^([^[]+)\[(.*)\]$/s.exec(parameter) ?? [];
  return { fields: fieldPath(type, path), key };
};

const boundBy = (given: readonly PathValue[]): ReadonlySet<string> => new Set(given.map(({ field }) => nameOf(field)));

/**
 * Converts the query to the JSON mapping of the request. Unknown names and fields that the path gives are ignored;
 * {@link ignoredIn} lists them.
 *
 * @throws {RpcError} INVALID_ARGUMENT naming the field.
 */
export const queryJson = (type: DescMessage, query: URLSearchParams, given: readonly PathValue[]): JsonObject => {
  const root: JsonObject = {};
  const bound = boundBy(given);
  for (const name of new Set(query.keys())) {
    const { fields, key } = parameterOf(type, name);
    if (fields && !bound.has(nameOf(fields))) putQuery(root, fields, key, query.getAll(name));
  }
  return root;
};

/** Lists the ignored query parameters: unknown ones, those that the path gives, and all where the RPC takes a body. */
export const ignoredIn = (query: URLSearchParams, { binding, values }: BindingMatch): readonly string[] => {
  if (query.size === 0) return [];
  const { input } = binding.endpoint.method;
  const bound = boundBy(values);
  return [...new Set(query.keys())].filter((name) => {
    const { fields } = parameterOf(input, name);
    return binding.hasBody || fields === undefined || bound.has(nameOf(fields));
  });
};

const MAX_IGNORED_CHARACTERS = 1_000;

/** Formats names for one header, percent-encoded; names beyond the length limit are only counted. */
export const ignoredText = (names: readonly string[]): string => {
  const shown: string[] = [];
  let left = MAX_IGNORED_CHARACTERS;
  for (const name of names) {
    const text = encodeURIComponent(name);
    left -= text.length + 2;
    if (left < 0) return [...shown, `and ${names.length - shown.length} more`].join(', ');
    shown.push(text);
  }
  return shown.join(', ');
};

/**
 * Converts the values in the path to the JSON mapping of the request.
 *
 * @throws {RpcError} INVALID_ARGUMENT naming the field.
 */
export const pathJson = (values: readonly PathValue[]): JsonObject => {
  const root: JsonObject = {};
  for (const { field, value } of values) {
    const last = field.at(-1);
    if (last) put(root, field, valueJson(last, nameOf(field), value));
  }
  return root;
};
