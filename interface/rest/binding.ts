import {
  type DescMessage,
  type DescMethod,
  getOption,
  type JsonObject,
  type JsonValue,
  type MessageShape,
  toJson,
} from '@bufbuild/protobuf';

import { http } from '../../proto/gen/google/api/annotations_pb.js';
import type { HttpRule } from '../../proto/gen/google/api/http_pb.js';

const VARIABLE = /\{([\w.]+)\}/gu;

const textOf = (value: JsonValue | undefined): string =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';

/** Takes the value of a field path such as `id.project` out of the fields, so that only the others go to the query. */
const take = (fields: JsonObject, path: string): string => {
  const names = path.split('.');
  const last = names.pop() ?? '';
  let within: JsonObject = fields;
  for (const name of names) within = (within[name] ?? {}) as JsonObject;
  const text = textOf(within[last]);
  Reflect.deleteProperty(within, last);
  return text;
};

const addQuery = (query: URLSearchParams, value: JsonValue, name: string): void => {
  if (Array.isArray(value)) for (const each of value) query.append(name, textOf(each));
  else if (typeof value === 'object' && value !== null)
    for (const [key, each] of Object.entries(value)) addQuery(query, each, name === '' ? key : `${name}.${key}`);
  else query.append(name, textOf(value));
};

const templateOf = ({ pattern }: Pick<HttpRule, 'pattern'>): string =>
  typeof pattern.value === 'string' ? pattern.value : '';

/**
 * The first binding whose path can have all its values: lists have a binding with a name and one without, and then the
 * query has the name. A path cannot have an empty value, nor one with a slash, which would begin a further segment. If
 * there is no such binding, the first one: the server finds nothing by its path.
 */
const ruleFor = (rule: HttpRule, fields: JsonObject): HttpRule => {
  const isFull = ({ pattern }: HttpRule): boolean =>
    [...templateOf({ pattern }).matchAll(VARIABLE)].every(([, path = '']) =>
      /^[^/]+$/u.test(take(structuredClone(fields), path)),
    );
  return [rule, ...rule.additionalBindings].find(isFull) ?? rule;
};

/** The HTTP request of an RPC: its verb, its path with the query, and whether the message is the body. */
export type HttpBinding = { readonly verb: string; readonly path: string; readonly hasBody: boolean };

/** The HTTP binding of an RPC for a request, by the annotations that the generated descriptors have. */
export const bindingOf = <Input extends DescMessage>(
  method: DescMethod & { readonly input: Input },
  input: MessageShape<Input>,
): HttpBinding => {
  const fields = toJson(method.input, input, { useProtoFieldName: true }) as JsonObject;
  const rule = ruleFor(getOption(method, http), fields);
  const path = templateOf(rule).replace(VARIABLE, (_, name: string) => encodeURIComponent(take(fields, name)));
  const query = new URLSearchParams();
  if (rule.body === '') addQuery(query, fields, '');
  return {
    verb: (rule.pattern.case ?? 'get').toUpperCase(),
    path: query.size === 0 ? path : `${path}?${query.toString()}`,
    hasBody: rule.body === '*',
  };
};
