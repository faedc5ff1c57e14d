import { extname } from 'node:path';
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

import { RpcError } from '../../kernel/rpc.js';
import type { LinkedFiles, LinkRefusal, PutClaims } from '../../kernel/ports/uploads.js';

/** Where links are served within the server; callers never see it. */
const ROUTE = '/-links';
const LINKS = '/data/';

/** Whether a request is for a link, and not for an RPC. */
export const isLink = (url: string | undefined): boolean => url?.startsWith(LINKS) === true;

/** Requests for links are served apart from RPCs: their bodies are not held in memory. */
export const routed = (url: string | undefined): string => (isLink(url) ? ROUTE : '/');

const answers: Readonly<Record<LinkRefusal, () => RpcError>> = {
  'link-invalid': () =>
    new RpcError('PERMISSION_DENIED', 'the link is not valid for this: changed, expired, or made for something else'),
  'content-differs': () => new RpcError('INVALID_ARGUMENT', 'invalid value for Content-MD5: the content has another'),
  'content-too-large': () => new RpcError('RESOURCE_EXHAUSTED', 'message larger than max: the file is too large'),
  'content-cut-off': () => new RpcError('CANCELLED', 'the content has ended too early'),
  'upload-exists': () => new RpcError('ALREADY_EXISTS', 'a file with another content is there'),
  'upload-unknown': () => new RpcError('NOT_FOUND', 'object not found'),
};

/** What a browser may take for a page; it is shown without any rights, because a client has written it. */
const TYPES: Readonly<Record<string, string>> = { '.html': 'text/html; charset=utf-8' };

const linkOf = ({ originalUrl }: FastifyRequest): URL => new URL(`http://link${originalUrl}`);

const bodyOf = ({ body }: FastifyRequest): AsyncIterable<Uint8Array> =>
  body instanceof Readable ? body : Readable.from([]);

const claimsOf = ({ headers }: FastifyRequest): PutClaims => {
  const { 'content-length': length, 'content-md5': md5 } = headers;
  return {
    ...(length !== undefined && { sizeBytes: Number(length) }),
    ...(typeof md5 === 'string' && { md5 }),
  };
};

const put = async (files: LinkedFiles, request: FastifyRequest, reply: FastifyReply): Promise<void> => {
  const refusal = await files.put(linkOf(request), bodyOf(request), claimsOf(request));
  if (refusal !== undefined) throw answers[refusal]();
  void reply.status(200).send();
};

const get = async (files: LinkedFiles, request: FastifyRequest, reply: FastifyReply): Promise<void> => {
  const file = await files.get(linkOf(request));
  if (typeof file === 'string') throw answers[file]();
  void reply
    .headers({
      'content-length': file.sizeBytes,
      'content-type': TYPES[extname(file.name).toLowerCase()] ?? 'application/octet-stream',
      'content-security-policy': 'sandbox allow-scripts',
      'x-content-type-options': 'nosniff',
      'cache-control': 'private, no-store',
    })
    .send(Readable.from(file.content));
};

/** Serves the links of a store that has no server of its own. */
export const serveLinks = (app: FastifyInstance, files: LinkedFiles): void => {
  const verbs: Readonly<Record<string, typeof put>> = { PUT: put, GET: get };
  void app.register((scope, _options, done) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, body, parsed) => parsed(null, body));
    scope.all(ROUTE, async (request, reply) => {
      const answer = verbs[request.method];
      if (!answer) throw new RpcError('UNIMPLEMENTED', 'Method Not Allowed');
      await answer(files, request, reply);
      return reply;
    });
    done();
  });
};
