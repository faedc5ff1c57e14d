import {
  createRegistry,
  type DescFile,
  type DescMessage,
  type DescMethod,
  fromBinary,
  fromJson,
  getOption,
  type JsonObject,
  type JsonValue,
  toBinary,
  toJson,
} from '@bufbuild/protobuf';
import { status } from '@grpc/grpc-js';
import { http } from '../../../proto/gen/google/api/annotations_pb.js';
import type { HttpRule } from '../../../proto/gen/google/api/http_pb.js';
import { type Status, StatusSchema } from '../../../proto/gen/google/rpc/status_pb.js';
import { AuthMetadataService } from '../../../proto/gen/platformidl/service/auth_pb.js';
import { IdentityService } from '../../../proto/gen/platformidl/service/identity_pb.js';
import { services } from '../../../services/gateway/routes.js';

/** The answer to a request, with the gRPC status when it is an error. */
export type RestAnswer = {
  readonly http: number;
  readonly code: keyof typeof status;
  readonly message: string;
  /** The raw body. */
  readonly bytes: Uint8Array;
  readonly headers: Headers;
};

/** The encoding of messages: JSON, or protobuf bytes. */
export type RestBody = 'json' | 'octets';

/**
 * The nesting depth up to which answers are parsed: more than that of requests, whose messages they contain some levels
 * deeper.
 */
export const ANSWER_DEPTH = 200;

const METHODS = ['get', 'post', 'put', 'delete'] as const;
const OCTETS = 'application/octet-stream';

/** A proto file, and all files that it imports, directly or not. */
const withDependencies = (file: DescFile): DescFile[] => [file, ...file.dependencies.flatMap(withDependencies)];
/** Services that this client does not call: their answers are about signing in. */
const SIGN_IN: readonly string[] = [AuthMetadataService.typeName, IdentityService.typeName];
// An RPC that is requested by its name alone is found in AdminService before the agents' services.
const SERVICES = services.filter(({ typeName }) => !SIGN_IN.includes(typeName));
const registry = createRegistry(...new Set(SERVICES.flatMap(({ file }) => withDependencies(file))));

/** The path of a field in the JSON mapping: `workflow_execution_id.name` becomes `workflowExecutionId.name`. */
const camel = (name: string): string => name.replaceAll(/_(.)/gu, (_, letter: string) => letter.toUpperCase());

/** The path segment for a field of a JSON message. A first attempt is 0, which is absent in the JSON. */
const inPath = (message: JsonObject, path: string): string | undefined => {
  const value = camel(path)
    .split('.')
    .reduce((inner: JsonValue | undefined, name) => (inner as JsonObject | undefined)?.[name], message);
  if (value === undefined) return path.endsWith('retry_attempt') ? '0' : undefined;
  return typeof value === 'object' ? undefined : encodeURIComponent(value);
};

/** The set fields of a message as query parameters, without those in the path. */
const parametersOf = (value: JsonValue, path: string, isBound: (path: string) => boolean): [string, string][] => {
  if (isBound(path) || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((each) => parametersOf(each, path, isBound));
  if (typeof value !== 'object') return [[path, String(value)]];
  return Object.entries(value).flatMap(([name, inner]) =>
    parametersOf(inner, path === '' ? name : `${path}.${name}`, isBound),
  );
};

/** True when the RPC is in a service that this client calls. */
export const isAsked = (method: DescMethod): boolean =>
  SERVICES.some(({ typeName }) => typeName === method.parent.typeName);

/** Finds an RPC by its name, in the first service of this client that has it. @throws {Error} when there is none. */
export const methodOf = (name: string): DescMethod => {
  const method = SERVICES.flatMap(({ methods }) => methods).find((each) => each.name === name);
  if (method === undefined) throw new Error(`no service has ${name}`);
  return method;
};

/** A request of an RPC over HTTP: its method in lower case, its path with the query, and whether it has a body. */
type Bound = { readonly verb: string; readonly path: string; readonly hasBody: boolean };

const FIELD = /\{([^}]+)\}/gu;

/**
 * One HTTP binding of an RPC, filled in from the message; `undefined` when the message lacks a field of the path, or
 * the verb of the binding is none of {@link METHODS}.
 */
const filledIn = ({ pattern, body }: HttpRule, message: JsonObject): Bound | undefined => {
  const verb = METHODS.find((each) => each === pattern.case);
  if (verb === undefined || pattern.case === 'custom') return undefined;
  const fields = Array.from(String(pattern.value).matchAll(FIELD), ([, field = '']) => field);
  if (fields.some((field) => inPath(message, field) === undefined)) return undefined;
  const path = String(pattern.value).replaceAll(FIELD, (_, field: string) => inPath(message, field) ?? '');
  const bound = new Set(fields.map(camel));
  const query = verb === 'get' ? parametersOf(message, '', (name) => bound.has(name)) : [];
  const asked = query.length === 0 ? path : `${path}?${new URLSearchParams(query).toString()}`;
  return { verb, path: asked, hasBody: body !== '' };
};

/**
 * The first binding of the RPC for which the request has all fields of the path.
 *
 * @throws {Error} when there is none.
 */
const boundTo = (method: DescMethod, message: JsonObject): Bound => {
  const rule = getOption(method, http);
  for (const each of [rule, ...rule.additionalBindings]) {
    const bound = filledIn(each, message);
    if (bound !== undefined) return bound;
  }
  throw new Error(`${method.name} has no binding for ${JSON.stringify(message)}`);
};

/** A request as JSON. @throws {Error} when the bytes are no message, or have no form in JSON. */
const jsonOf = (method: DescMethod, bytes: Uint8Array): JsonObject =>
  toJson(method.input, fromBinary(method.input, bytes), { registry }) as JsonObject;

/** A request as JSON; `undefined` when it has no form in JSON. */
const jsonIfAny = (method: DescMethod, bytes: Uint8Array): JsonObject | undefined => {
  try {
    return jsonOf(method, bytes);
  } catch {
    return undefined;
  }
};

const isOctets = (headers: Headers): boolean => headers.get('content-type') === OCTETS;

/** The message in the body of an answer, which is in the encoding that its headers name. */
const bodyOf = <Desc extends DescMessage>(schema: Desc, { bytes, headers }: Pick<RestAnswer, 'bytes' | 'headers'>) =>
  isOctets(headers)
    ? fromBinary(schema, bytes, { recursionLimit: ANSWER_DEPTH })
    : fromJson(schema, JSON.parse(Buffer.from(bytes).toString() || '{}') as JsonValue, {
        registry,
        recursionLimit: ANSWER_DEPTH,
      });

/** The status in the body of an error. */
export const statusOf = (answer: Pick<RestAnswer, 'bytes' | 'headers'>): Status => bodyOf(StatusSchema, answer);

export type RestClient = {
  /** Sends any HTTP request. */
  readonly request: (
    method: string,
    path: string,
    body?: string | Uint8Array,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<RestAnswer>;
  /**
   * Sends the request of an RPC by its binding; the bytes of the answer are the encoded message, or the raw body of an
   * error.
   */
  readonly raw: (
    method: string,
    request: Uint8Array,
    options?: { readonly body?: RestBody; readonly headers?: Readonly<Record<string, string>> },
  ) => Promise<RestAnswer>;
  /**
   * Sends a request as JSON; `undefined` when the bytes have no form in JSON, or lack a field of the path. The bytes of
   * the answer are the raw body.
   */
  readonly rawJson: (
    method: DescMethod,
    request: Uint8Array,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<RestAnswer> | undefined;
  /**
   * Sends any bytes as the body, to the path that the valid request `whole` has; `undefined` when requests of the RPC
   * have no body.
   */
  readonly bytesAt: (method: DescMethod, whole: Uint8Array, bytes: Uint8Array) => Promise<RestAnswer> | undefined;
};

/** Makes a client that sends requests over REST, as JSON made from their bytes, or as the bytes. */
export const restClient = (base: string): RestClient => {
  const request: RestClient['request'] = async (method, path, body, headers = {}) => {
    const response = await fetch(`${base}${path}`, {
      method,
      headers,
      ...(body !== undefined && { body: typeof body === 'string' ? body : Buffer.from(body) }),
    });
    const bytes = new Uint8Array(await response.arrayBuffer());
    const answer = { http: response.status, bytes, headers: response.headers };
    if (response.ok) return { ...answer, code: 'OK', message: '' };
    const { code, message } = statusOf(answer);
    return { ...answer, code: status[code] as keyof typeof status, message };
  };
  type SentHeaders = Readonly<Record<string, string>> | undefined;
  const asJson = async (method: DescMethod, bytes: Uint8Array, headers: SentHeaders): Promise<RestAnswer> => {
    const message = jsonOf(method, bytes);
    const { verb, path } = boundTo(method, message);
    const body = verb === 'get' ? undefined : JSON.stringify(message);
    const answer = await request(verb.toUpperCase(), path, body, headers);
    return answer.code === 'OK' ? { ...answer, bytes: toBinary(method.output, bodyOf(method.output, answer)) } : answer;
  };
  /**
   * Sends bytes as the body, or in a GET their fields in the path and query. They need not be a valid message when no
   * field of it is in the path or the query.
   */
  const asOctets = (method: DescMethod, bytes: Uint8Array, headers: SentHeaders): Promise<RestAnswer> => {
    const fixed = filledIn(getOption(method, http), {});
    const { verb, path } = fixed === undefined || fixed.verb === 'get' ? boundTo(method, jsonOf(method, bytes)) : fixed;
    const inOctets = { ...headers, accept: OCTETS, 'content-type': OCTETS };
    return request(verb.toUpperCase(), path, verb === 'get' ? undefined : bytes, inOctets);
  };
  const bytesAt: RestClient['bytesAt'] = (method, whole, bytes) => {
    const { verb, path, hasBody } = boundTo(method, jsonOf(method, whole));
    return hasBody ? request(verb.toUpperCase(), path, bytes, { 'content-type': OCTETS }) : undefined;
  };
  const rawJson: RestClient['rawJson'] = (method, bytes, headers) => {
    const message = jsonIfAny(method, bytes);
    if (message === undefined) return undefined;
    const rule = getOption(method, http);
    const bound = [rule, ...rule.additionalBindings].flatMap((each) => filledIn(each, message) ?? [])[0];
    if (bound === undefined) return undefined;
    const body = bound.verb === 'get' ? undefined : JSON.stringify(message);
    return request(bound.verb.toUpperCase(), bound.path, body, headers);
  };
  return {
    request,
    rawJson,
    bytesAt,
    raw: (name, bytes, { body = 'json', headers } = {}) =>
      (body === 'json' ? asJson : asOctets)(methodOf(name), bytes, headers),
  };
};
