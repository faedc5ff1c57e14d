import type { IncomingMessage } from 'node:http';

const SCHEME_AND_HOST = /^https?:\/\/[^/?]*/iu;

/**
 * Reads the path and query of a request. Its target may be a URL, whose scheme and host have no meaning here (RFC 9112,
 * 3.2.2): clients send one that take this server for a proxy.
 */
export const pathAndQuery = ({ url = '/' }: Pick<IncomingMessage, 'url'>): string => {
  const rest = url.replace(SCHEME_AND_HOST, '');
  return rest === '' || rest.startsWith('?') ? `/${rest}` : rest;
};
