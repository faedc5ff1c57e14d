import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  getOption,
  type JsonObject,
  type JsonValue,
  type MessageInitShape,
  type MessageShape,
  toBinary,
  toJson,
} from '@bufbuild/protobuf';

import { http } from '../../proto/gen/google/api/annotations_pb.js';
import type { HttpRule } from '../../proto/gen/google/api/http_pb.js';
import { failureOf, ServerUnreachable } from './failure.js';
import { serverAddress } from './root.js';

const OCTETS = 'application/octet-stream';
const VARIABLE = /\{([\w.]+)\}/gu;

const textOf = (value: JsonValue | undefined): string =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';

/** The value of a field path such as `id.project`; removed, so that the rest goes to the query. */
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

/** The binding whose path has all its values: lists are bound with a name and without. */
const ruleFor = (rule: HttpRule, fields: JsonObject): HttpRule => {
  const isFull = ({ pattern }: HttpRule): boolean =>
    [...templateOf({ pattern }).matchAll(VARIABLE)].every(
      ([, path = '']) => take(structuredClone(fields), path) !== '',
    );
  return [rule, ...rule.additionalBindings].find(isFull) ?? rule;
};

const templateOf = ({ pattern }: Pick<HttpRule, 'pattern'>): string =>
  typeof pattern.value === 'string' ? pattern.value : '';

type Addressed = { readonly verb: string; readonly url: URL };

const addressOf = (method: DescMethodUnary, input: MessageShape<DescMessage>): Addressed => {
  const fields = toJson(method.input, input, { useProtoFieldName: true }) as JsonObject;
  const rule = ruleFor(getOption(method, http), fields);
  const path = templateOf(rule).replace(VARIABLE, (_, name: string) => encodeURIComponent(take(fields, name)));
  const url = serverAddress(path);
  if (rule.body === '') addQuery(url.searchParams, fields, '');
  return { verb: (rule.pattern.case ?? 'get').toUpperCase(), url };
};

/**
 * Calls an RPC by its HTTP binding, which the generated descriptors have, with protobuf bytes both ways.
 *
 * @throws {ServerFailure} when the server refuses or fails.
 * @throws {ServerUnreachable} when no answer comes.
 */
export const call = async <Input extends DescMessage, Output extends DescMessage>(
  method: DescMethodUnary<Input, Output>,
  init: MessageInitShape<Input>,
  signal?: AbortSignal,
): Promise<MessageShape<Output>> => {
  const input = create(method.input, init);
  const { verb, url } = addressOf(method, input);
  const hasBody = getOption(method, http).body === '*';
  const answer = await fetch(url, {
    method: verb,
    headers: { accept: OCTETS, ...(hasBody && { 'content-type': OCTETS }) },
    ...(hasBody && { body: new Uint8Array(toBinary(method.input, input)) }),
    ...(signal && { signal }),
  }).catch((error: unknown) => {
    if (signal?.aborted === true) throw error;
    throw new ServerUnreachable('the server does not answer', { cause: error });
  });
  if (!answer.ok) throw await failureOf(answer);
  return fromBinary(method.output, new Uint8Array(await answer.arrayBuffer()));
};
