import { readFile } from 'node:fs/promises';
import { InterceptingCall, type Interceptor, Metadata, status } from '@grpc/grpc-js';

/** Gets an access token that is still valid. */
export type GetToken = () => Promise<string>;

/** A token, and the times after its issue at which it is to be renewed and at which it expires, in milliseconds. */
export type IssuedToken = { readonly token: string; readonly renewAfterMs: number; readonly lifeMs: number };

/** Called with the first of several failures in a row. */
export type OnTokenFailure = (error: Error) => void;

/** The pause after a failure, so that calls that are retried do not ask the issuer each time. */
const PAUSE_MS = 1_000;
/** The time for which a token of a file is used before the file is read again. */
const FILE_MS = 5_000;

/**
 * A moment by the clock of the machine, which may be set, and by the one of the process, which a suspension may stop.
 */
type Moment = { readonly machineMs: number; readonly processMs: number };

const momentNow = (): Moment => ({ machineMs: Date.now(), processMs: performance.now() });

/** The milliseconds that have passed since a moment, by the clock that shows more. */
const elapsedMs = ({ machineMs, processMs }: Moment): number =>
  Math.max(Date.now() - machineMs, performance.now() - processMs);

const errorOf = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(String(thrown)));

/** Keeps a token until it is to be renewed, or until it expires where it cannot be renewed. Calls share one request. */
export const renewedToken = (issue: () => Promise<IssuedToken>, onFailure: OnTokenFailure): GetToken => {
  let known: (IssuedToken & { readonly issuedAt: Moment }) | undefined;
  let failure: { readonly error: Error; readonly failedAt: Moment } | undefined;
  let issuing: Promise<void> | undefined;

  const issueToken = async (): Promise<void> => {
    try {
      known = { ...(await issue()), issuedAt: momentNow() };
      failure = undefined;
    } catch (thrown) {
      const error = errorOf(thrown);
      if (!failure) onFailure(error);
      failure = { error, failedAt: momentNow() };
    }
    issuing = undefined;
  };

  const isDue = (): boolean => {
    if (failure && elapsedMs(failure.failedAt) < PAUSE_MS) return false;
    return known === undefined || elapsedMs(known.issuedAt) >= known.renewAfterMs;
  };

  return async () => {
    if (issuing || isDue()) await (issuing ??= issueToken());
    if (known && elapsedMs(known.issuedAt) < known.lifeMs) return known.token;
    throw failure?.error ?? new Error('the token has expired');
  };
};

/** Gets the token in a file, which may be written anew while the engine runs. */
export const fileToken = (file: string, onFailure: OnTokenFailure): GetToken =>
  renewedToken(async () => {
    const token = (await readFile(file, 'utf8')).trim();
    return { token, renewAfterMs: FILE_MS, lifeMs: FILE_MS };
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
