import { InterceptingCall, type Interceptor, Metadata, status } from '@grpc/grpc-js';
import { z } from 'zod';

/** Gets an access token that is still valid. */
export type GetToken = () => Promise<string>;

/** A client of OAuth 2.0, and the token endpoint of its issuer. */
export type ClientCredentials = { readonly tokenUrl: string; readonly id: string; readonly secret: string };

const answer = z.object({ access_token: z.string(), expires_in: z.number() });

const MS = 1_000;

/** An issuer that is slower than this counts as away. */
const ANSWER_MS = 10_000;

type Known = { readonly token: string; readonly until: number };

const ask = async ({ tokenUrl, id, secret }: ClientCredentials): Promise<Known> => {
  const basic = Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64');
  const response = await fetch(tokenUrl, {
    method: 'POST',
    headers: { authorization: `Basic ${basic}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', scope: 'all' }),
    signal: AbortSignal.timeout(ANSWER_MS),
  });
  if (!response.ok) throw new Error(`${tokenUrl} answers ${response.status} to the client ${id}`);
  const { access_token: token, expires_in: seconds } = answer.parse(await response.json());
  return { token, until: Date.now() + (seconds * MS) / 2 };
};

/** Gets tokens by client credentials; a token is used for half of its life, and calls share one request. */
export const tokensOf = (client: ClientCredentials): GetToken => {
  let known: Known | undefined;
  let asking: Promise<Known> | undefined;
  return async () => {
    if (known && Date.now() < known.until) return known.token;
    asking ??= ask(client).finally(() => {
      asking = undefined;
    });
    known = await asking;
    return known.token;
  };
};

/** Adds a bearer token to each call. While none can be got, calls fail with UNAVAILABLE, so that they are tried again. */
export const bearer =
  (getToken: GetToken): Interceptor =>
  (options, next) =>
    new InterceptingCall(next(options), {
      start: (metadata, listener, begin) => {
        const withToken = (token: string): void => {
          metadata.set('authorization', `Bearer ${token}`);
          begin(metadata, listener);
        };
        const without = (error: Error): void =>
          listener.onReceiveStatus({
            code: status.UNAVAILABLE,
            details: `no access token: ${error.message}`,
            metadata: new Metadata(),
          });
        getToken().then(withToken, without);
      },
    });
