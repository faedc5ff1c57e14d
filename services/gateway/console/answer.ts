import type { FastifyReply, FastifyRequest } from 'fastify';

import { sendBody, sendGzipped, takesGzip } from '../rest/encoding.js';
import { type ConsoleFile, consoleFile, isConsolePath } from './files.js';

// Components position menus with inline styles; scripts come from this server alone.
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "worker-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "frame-src 'self'", // decks, which are served in a sandbox without an origin
  "base-uri 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const send = async (request: FastifyRequest, reply: FastifyReply, file: ConsoleFile): Promise<void> => {
  const { mediaType, cacheControl, read, readGzipped } = file;
  const gzipped = takesGzip(request) ? await readGzipped?.() : undefined;
  const body = gzipped ?? (await read());
  void reply.headers({
    'content-type': mediaType,
    'cache-control': cacheControl,
    'content-security-policy': POLICY,
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
  });
  if (gzipped) sendGzipped(reply, gzipped);
  else sendBody(request, reply, body);
};

/**
 * Answers requests for the console, and redirects `/` to it; returns `false` for every other request. Its files are
 * the same for every caller, so they need no token; what they show comes from RPCs, which do. The folder is that of the
 * built console.
 */
export const answerConsole = (
  request: FastifyRequest,
  reply: FastifyReply,
  { path, folder }: { readonly path: string; readonly folder?: URL },
): boolean => {
  if (request.method !== 'GET' && request.method !== 'HEAD') return false;
  if (path === '/') {
    void reply.redirect('console', 302);
    return true;
  }
  if (!isConsolePath(path)) return false;
  send(request, reply, consoleFile(path, folder)).catch((error: unknown) => void reply.send(error));
  return true;
};
