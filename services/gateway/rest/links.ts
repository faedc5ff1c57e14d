import { extname } from 'node:path';
import { finished, Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

import { RpcError } from '../../kernel/rpc.js';
import type { LinkedFiles, LinkRefusal, PutClaims } from '../../kernel/ports/uploads.js';

/** The internal Fastify route for links; callers use `/data/`. */
const ROUTE = '/-links';
const LINKS = '/data/';

/** True when a request is for a link, and not for an RPC, also where this server serves no links. */
export const isLink = (url: string | undefined): boolean => url?.startsWith(LINKS) === true;

/** Maps a URL to the Fastify route that serves it. Links have their own route, which does not buffer bodies. */
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

/** The files that browsers show as pages. Clients wrote them, so they are served in a sandbox without an origin. */
const TYPES: Readonly<Record<string, string>> = { '.html': 'text/html; charset=utf-8' };

const linkOf = ({ originalUrl }: FastifyRequest): URL => new URL(`http://link${originalUrl}`);

const bodyOf = ({ body }: FastifyRequest): AsyncIterable<Uint8Array> =>
  body instanceof Readable ? body : Readable.from([]);

/** The value of a header; a client that sends the same one twice means it once. */
const once = (value: string): string => [...new Set(value.split(/ *, */u))].join(', ');

const claimsOf = ({ headers }: FastifyRequest): PutClaims => {
  const { 'content-length': length, 'content-md5': md5 } = headers;
  return {
    ...(length !== undefined && { sizeBytes: Number(length) }),
    ...(typeof md5 === 'string' && { md5: once(md5) }),
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
  // Not with the end of the content: of a client that has disconnected meanwhile, none of it is read.
  finished(reply.raw, () => file.close());
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

/** Serves the upload and download links of a store that has no HTTP server of its own. */
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
