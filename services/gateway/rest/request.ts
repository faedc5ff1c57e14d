import { isUtf8 } from 'node:buffer';

import { create, type DescMessage, type MessageShape, toBinary } from '@bufbuild/protobuf';
import type { FastifyRequest } from 'fastify';

import { RpcError } from '../../kernel/rpc.js';
import type { Hosting } from '../exchange.js';
import type { RouteBinding, BindingMatch, Bindings } from './bindings.js';
import { type Dialect, STRICT_JSON } from './dialects.js';
import { setFields } from './json.js';
import { pathJson, queryJson } from './parameters.js';

const FORM = 'application/x-www-form-urlencoded';

/** The binding and the query parameters of a request. */
export type Addressed = {
  readonly match: BindingMatch;
  readonly query: URLSearchParams;
};

/** The error for a path without a binding. */
const notFound = (): RpcError => new RpcError('NOT_FOUND', 'Not Found');
/** The error for a path that has bindings, but none with this verb. */
const methodNotAllowed = (): RpcError => new RpcError('UNIMPLEMENTED', 'Method Not Allowed');

const decodePath = (path: string): string => {
  try {
    return decodeURIComponent(path);
  } catch {
    throw new RpcError('INVALID_ARGUMENT', 'malformed path: its percent-encoding is invalid');
  }
};

/** Parses a query or a form. Refuses invalid percent-encoding, which `URLSearchParams` would silently replace. */
const parametersIn = (text: string): URLSearchParams => {
  try {
    decodeURIComponent(text);
  } catch {
    throw new RpcError('INVALID_ARGUMENT', 'malformed query or form: its percent-encoding is invalid');
  }
  return new URLSearchParams(text);
};

/** Reads a header by its name, or with the prefix `grpc-metadata-`. */
export const headerOf = (request: FastifyRequest, name: string): string | undefined => {
  const value = request.headers[name] ?? request.headers[`grpc-metadata-${name}`];
  return Array.isArray(value) ? value[0] : value;
};

/** Returns the body of a request; empty when it has none. */
export const bodyOf = (request: FastifyRequest): Buffer =>
  Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);

const formText = (body: Buffer): string => {
  if (!isUtf8(body)) throw new RpcError('INVALID_ARGUMENT', 'malformed form: it is not valid UTF-8');
  return body.toString();
};

const isForm = (request: FastifyRequest): boolean =>
  request.method === 'POST' && request.headers['content-type'] === FORM;

/** Determines the verb that a form is meant for: browsers and proxies send long queries of GET as forms by POST. */
const verbOfForm = (request: FastifyRequest, matches: readonly BindingMatch[]): string => {
  const override = request.headers['x-http-method-override'];
  if (typeof override === 'string' && override !== '') return override.toUpperCase();
  const verbs = new Set(matches.map(({ binding }) => binding.verb));
  if (verbs.has('POST')) return 'POST';
  if (verbs.size === 1 && verbs.has('GET')) return 'GET';
  throw new RpcError(
    'INVALID_ARGUMENT',
    'this path has no POST, and other methods than GET: a form needs the header X-HTTP-Method-Override',
  );
};

/**
 * Finds the binding of a request. The path is decoded before it is split, so a slash in a name (`%2F`) separates
 * segments: such a name cannot be given in a path.
 *
 * @throws {RpcError} NOT_FOUND for an unknown path, UNIMPLEMENTED for a known path with another verb, INVALID_ARGUMENT
 * for a path, query or form that cannot be decoded and a form whose verb cannot be determined.
 */
export const address = (request: FastifyRequest, bindings: Bindings): Addressed => {
  const [path = '', ...rest] = request.originalUrl.split('?');
  const matches = bindings.find(decodePath(path));
  if (matches.length === 0) throw notFound();
  const form = isForm(request);
  const verb = form ? verbOfForm(request, matches) : request.method;
  const match = matches.find(({ binding }) => binding.verb === verb);
  if (!match) throw methodNotAllowed();
  const query = parametersIn(rest.join('?'));
  if (form && verb === 'GET')
    for (const [name, value] of parametersIn(formText(bodyOf(request)))) query.append(name, value);
  return { match, query };
};

const isEmpty = (fields: object): boolean => Object.keys(fields).length === 0;

/**
 * Builds a request from its body or query, and its path; values of the path override the others.
 *
 * @throws {RpcError} INVALID_ARGUMENT when one of them cannot be parsed.
 */
export const readRequest = (
  request: FastifyRequest,
  addressed: Addressed,
  dialect: Dialect,
): MessageShape<DescMessage> => {
  const { binding, values } = addressed.match;
  const { input } = binding.endpoint.method;
  const message = binding.hasBody ? dialect.read(binding.endpoint, bodyOf(request)) : create(input);
  const query = binding.hasBody ? {} : queryJson(input, addressed.query, values);
  if (!isEmpty(query)) setFields(input, message, query);
  if (values.length > 0) setFields(input, message, pathJson(values));
  return message;
};

/** Encodes a request for handlers that take bytes, which are those of the hot path. */
export const requestBytes = ({ endpoint }: RouteBinding, message: MessageShape<DescMessage>): Uint8Array =>
  toBinary(endpoint.method.input, message);

/** JSON bodies larger than this, in bytes, are parsed on another thread, because parsing would delay other calls. */
const LARGE_JSON = 256 * 1024;

/** Returns the body when it is the whole request, so that no field comes from the path; otherwise `undefined`. */
const wholeBody = (request: FastifyRequest, { match }: Addressed): Buffer | undefined =>
  match.binding.hasBody && match.values.length === 0 ? bodyOf(request) : undefined;

/**
 * Gets the encoded message of a request that the serving thread does not decode.
 *
 * @returns `undefined` for a request that {@link readRequest} is to read.
 * @throws {RpcError} INVALID_ARGUMENT when the body cannot be parsed; RESOURCE_EXHAUSTED when too many are queued.
 */
export const largeRequest = async (
  request: FastifyRequest,
  addressed: Addressed,
  { dialect, hosting }: { readonly dialect: Dialect; readonly hosting: Hosting },
): Promise<Uint8Array | undefined> => {
  const { route, name } = addressed.match.binding.endpoint;
  const body = wholeBody(request, addressed);
  if (!route || !body || (!route.large && route.takes === 'message')) return undefined;
  if (!dialect.isText) return route.large && body.length > route.large.aboveBytes ? body : undefined;
  if (!hosting.readJson || body.length <= LARGE_JSON) return undefined;
  return hosting.readJson({ rpc: name, body, isStrict: dialect === STRICT_JSON });
};
