import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps, type RequestOptions } from 'node:https';
import type { CustomFetch } from 'openid-client';

/** Time limit of the issuer's answer, in milliseconds. */
const ANSWER_MS = 10_000;

/**
 * Options of requests to an issuer: `ca` has the certificates to trust, `rejectUnauthorized: false` accepts any
 * certificate, and `agent` reaches the issuer through a proxy.
 */
export type IssuerOptions = Pick<RequestOptions, 'ca' | 'rejectUnauthorized' | 'agent'>;

const answerOf = async (request: ClientRequest): Promise<Response> => {
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const { 'content-type': type = '' } = response.headers;
  return new Response(Buffer.concat(chunks), { status: response.statusCode ?? 0, headers: { 'content-type': type } });
};

/**
 * Sends requests to an issuer of tokens with options that the built-in `fetch` does not take. A request fails when its
 * answer is not complete within 10 seconds.
 */
export const issuerFetch =
  (issuerOptions: IssuerOptions): CustomFetch =>
  async (url, { method, headers, body }) => {
    const signal = AbortSignal.timeout(ANSWER_MS);
    const options = { method, headers: Object.fromEntries(new Headers(headers)), signal, ...issuerOptions };
    const request = url.startsWith('https:') ? requestHttps(url, options) : requestHttp(url, options);
    request.end(body instanceof URLSearchParams ? body.toString() : undefined);
    try {
      return await answerOf(request);
    } catch (cause) {
      throw signal.aborted ? new Error(`no complete answer within ${ANSWER_MS / 1_000} s`, { cause }) : cause;
    }
  };
