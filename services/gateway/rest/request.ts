import { create, type DescMessage, type MessageShape, toBinary } from '@bufbuild/protobuf';
import type { FastifyRequest } from 'fastify';

import { RpcError } from '../../kernel/rpc.js';
import type { Binding, Bindings, Match } from './bindings.js';
import type { Dialect } from './dialects.js';
import { setFields } from './json.js';
import { pathJson, queryJson } from './parameters.js';

const FORM = 'application/x-www-form-urlencoded';

/** A request that has found its binding. */
export type Addressed = {
  readonly match: Match;
  readonly query: URLSearchParams;
};

/** A path that no RPC has. */
const notFound = (): RpcError => new RpcError('NOT_FOUND', 'Not Found');
/** A path that an RPC has, but not with this verb. */
const methodNotAllowed = (): RpcError => new RpcError('UNIMPLEMENTED', 'Method Not Allowed');

const decodePath = (path: string): string => {
  try {
    return decodeURIComponent(path);
  } catch {
    throw new RpcError('INVALID_ARGUMENT', 'malformed path: its percent-encoding is not valid UTF-8');
  }
};

/** The parameters of a query or a form, which would be read with other characters than were sent where they are no text. */
const parametersIn = (text: string): URLSearchParams => {
  try {
    decodeURIComponent(text);
  } catch {
    throw new RpcError('INVALID_ARGUMENT', 'malformed query: its percent-encoding is not valid UTF-8');
  }
  return new URLSearchParams(text);
};

/** The body, empty where there is none. */
export const bodyOf = (request: FastifyRequest): Buffer =>
  Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);

const isForm = (request: FastifyRequest): boolean =>
  request.method === 'POST' && request.headers['content-type'] === FORM;

/** The verb that a form stands for: browsers and proxies send long queries as forms. */
const verbOfForm = (request: FastifyRequest, matches: readonly Match[]): string => {
  const override = request.headers['x-http-method-override'];
  if (typeof override === 'string' && override !== '') return override.toUpperCase();
  const verbs = new Set(matches.map(({ binding }) => binding.verb));
  if (verbs.has('POST')) return 'POST';
  if (verbs.size === 1 && verbs.has('GET')) return 'GET';
  throw new RpcError('INVALID_ARGUMENT', 'a form for a path with several methods needs X-HTTP-Method-Override');
};

/**
 * Finds the RPC that a request is for. The path is decoded before it is split, so a name that holds a slash meets no
 * binding.
 *
 * @throws {RpcError} NOT_FOUND for an unknown path, UNIMPLEMENTED for a known one with another verb, INVALID_ARGUMENT for
 * a path that cannot be decoded and a form that could mean several verbs.
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
    for (const [name, value] of parametersIn(bodyOf(request).toString())) query.append(name, value);
  return { match, query };
};

const isEmpty = (fields: object): boolean => Object.keys(fields).length === 0;

/**
 * Puts a request together from its body or query and its path, which has the last word.
 *
 * @throws {RpcError} INVALID_ARGUMENT naming the field.
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

/** A request as the bytes that a handler of the hot path takes. */
export const requestBytes = ({ endpoint }: Binding, message: MessageShape<DescMessage>): Uint8Array =>
  toBinary(endpoint.method.input, message);
