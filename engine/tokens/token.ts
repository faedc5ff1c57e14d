import { readFile } from 'node:fs/promises';
import { InterceptingCall, type Interceptor, Metadata, status } from '@grpc/grpc-js';

/** Gets an access token that is still valid. */
export type GetToken = () => Promise<string>;

/** A token with its times, in milliseconds since 1970. */
export type IssuedToken = { readonly token: string; readonly renewAtMs: number; readonly expiresAtMs: number };

/** Called with the first of several failures in a row. */
export type OnTokenFailure = (error: Error) => void;

/** The pause after a failure, so that calls that are retried do not ask the issuer each time. */
const PAUSE_MS = 1_000;
/** The time for which a token of a file is used before the file is read again. */
const FILE_MS = 5_000;

const errorOf = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(String(thrown)));

/** Keeps a token until it is to be renewed, or until it expires where it cannot be renewed. Calls share one request. */
export const renewedToken = (issue: () => Promise<IssuedToken>, onFailure: OnTokenFailure): GetToken => {
  let known: IssuedToken | undefined;
  let failure: { readonly error: Error; readonly untilMs: number } | undefined;
  let issuing: Promise<void> | undefined;

  const issueToken = async (): Promise<void> => {
    try {
      known = await issue();
      failure = undefined;
    } catch (thrown) {
      const error = errorOf(thrown);
      if (!failure) onFailure(error);
      failure = { error, untilMs: Date.now() + PAUSE_MS };
    }
    issuing = undefined;
  };

  const isDue = (nowMs: number): boolean => nowMs >= (known?.renewAtMs ?? 0) && nowMs >= (failure?.untilMs ?? 0);

  return async () => {
    if (issuing || isDue(Date.now())) await (issuing ??= issueToken());
    if (known && Date.now() < known.expiresAtMs) return known.token;
    throw failure?.error ?? new Error('the token has expired');
  };
};

/** Gets the token in a file, which may be written anew while the engine runs. */
export const fileToken = (file: string, onFailure: OnTokenFailure): GetToken =>
  renewedToken(async () => {
    const token = (await readFile(file, 'utf8')).trim();
    const expiresAtMs = Date.now() + FILE_MS;
    return { token, renewAtMs: expiresAtMs, expiresAtMs };
  }, onFailure);

/** Adds a bearer token to each call. While none can be got, calls fail with UNAVAILABLE, so that they are retried. */
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
