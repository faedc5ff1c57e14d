import type { DescField, DescMessage, JsonObject, JsonValue } from '@bufbuild/protobuf';

import { invalid } from '../kernel/rpc.js';
import { fieldPath, type PathValue } from './rest-bindings.js';
import { valueJson } from './rest-values.js';

const nameOf = (path: readonly DescField[]): string => path.map(({ name }) => name).join('.');

/** The object that holds the last field of a path; made on the way where it is not there. */
const holder = (root: JsonObject, path: readonly DescField[]): JsonObject => {
  let within = root;
  for (const { name } of path.slice(0, -1)) within = (within[name] ??= {}) as JsonObject;
  return within;
};

const put = (root: JsonObject, path: readonly DescField[], value: JsonValue): void => {
  const last = path.at(-1);
  if (!last) return;
  const within = holder(root, path);
  if (within[last.name] !== undefined) throw invalid(nameOf(path), 'given more than once');
  within[last.name] = value;
};

const putQuery = (root: JsonObject, path: readonly DescField[], key: string | undefined, texts: string[]): void => {
  const field = path.at(-1);
  const [first] = texts;
  if (!field || first === undefined) return;
  if (field.fieldKind === 'map') {
    if (key === undefined) throw invalid(nameOf(path), `a map is given as ${field.name}[key]=value`);
    if (texts.length > 1) throw invalid(nameOf(path), `${key} is given more than once`);
    const within = holder(root, path);
    ((within[field.name] ??= Object.create(null) as JsonObject) as JsonObject)[key] = valueJson(field, first);
  } else if (field.fieldKind === 'list') {
    put(
      root,
      path,
      texts.map((text) => valueJson(field, text)),
    );
  } else {
    if (texts.length > 1) throw invalid(nameOf(path), 'given more than once');
    put(root, path, valueJson(field, first));
  }
};

/**
 * What the query says of a request, in the JSON mapping. Names that the request does not have are ignored, and so are
 * fields that the path has given.
 *
 * @throws {RpcError} INVALID_ARGUMENT naming the field.
 */
export const queryJson = (type: DescMessage, query: URLSearchParams, given: readonly PathValue[]): JsonObject => {
  const root: JsonObject = {};
  const bound = new Set(given.map(({ field }) => nameOf(field)));
  for (const name of new Set(query.keys())) {
    const [, path = name, key] = /^([^[]+)\[(.*)\]$/s.exec(name) ?? [];
    const fields = fieldPath(type, path);
    if (fields && !bound.has(nameOf(fields))) putQuery(root, fields, key, query.getAll(name));
  }
  return root;
};

/**
 * What the path says of a request, in the JSON mapping.
 *
 * @throws {RpcError} INVALID_ARGUMENT naming the field.
 */
export const pathJson = (values: readonly PathValue[]): JsonObject => {
  const root: JsonObject = {};
  for (const { field, value } of values) {
    const last = field.at(-1);
    if (last) put(root, field, valueJson(last, value));
  }
  return root;
};
