import { InterceptingCall, type Interceptor } from '@grpc/grpc-js';
import { z } from 'zod';

/** Gets an access token that is still valid. */
export type GetToken = () => Promise<string>;

/** A client of OAuth 2.0, and the token endpoint of its issuer. */
export type ClientCredentials = { readonly tokenUrl: string; readonly id: string; readonly secret: string };

const answer = z.object({ access_token: z.string(), expires_in: z.number() });

const MS = 1_000;

type Known = { readonly token: string; readonly until: number };

const ask = async ({ tokenUrl, id, secret }: ClientCredentials): Promise<Known> => {
  const basic = Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64');
  const response = await fetch(tokenUrl, {
    method: 'POST',
    headers: { authorization: `Basic ${basic}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', scope: 'all' }),
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

/** Adds a bearer token to each call. A call goes without one when none can be got, and is then refused. */
export const bearer =
  (getToken: GetToken): Interceptor =>
  (options, next) =>
    new InterceptingCall(next(options), {
      start: (metadata, listener, begin) => {
        getToken()
          .then((token) => metadata.set('authorization', `Bearer ${token}`))
          .catch(() => undefined)
          .finally(() => begin(metadata, listener));
      },
    });
