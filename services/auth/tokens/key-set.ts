import { createLocalJWKSet, errors, type JWTVerifyGetKey } from 'jose';
import * as z from 'zod';
import { type RpcError, unavailable } from '../../kernel/rpc.js';
import { type FetchJson, issuerDocument } from './issuer-metadata.js';

/** Finds the public key of a token by its header. */
export type FindKey = JWTVerifyGetKey;

/** The address of an issuer's keys; discovered where it is not configured. */
type Source = { readonly issuer: string; readonly jwksUrl?: string | undefined };

type Options = { readonly fetchJson: FetchJson; readonly now: () => number };

/** The keys are fetched at most once in this time, in milliseconds, however many tokens have unknown key ids. */
const COOLDOWN_MS = 10_000;
/** After this time, in milliseconds, keys are fetched again, so that withdrawn keys do not count for ever. */
const FRESH_MS = 600_000;

const keySet = z.looseObject({ keys: z.array(z.looseObject({ kty: z.string() })) });

const unreachable = (issuer: string, cause: unknown): RpcError =>
  unavailable(`the keys of the issuer ${issuer} cannot be fetched: try again later`, cause, COOLDOWN_MS);

/**
 * The keys of an issuer, fetched at first use and kept while the issuer cannot be reached. An unknown key id fetches
 * them again, at most once in ten seconds for all tokens together.
 *
 * @throws {RpcError} from the search: UNAVAILABLE when no keys could be fetched yet.
 */
export const remoteKeys = ({ issuer, jwksUrl }: Source, { fetchJson, now }: Options): FindKey => {
  let find: FindKey | undefined;
  let fetchedAt = -Infinity;
  let triedAt = -Infinity;
  let fetching: Promise<void> | undefined;
  let failure: unknown;
  /** The clock may have been set back since that time. */
  const elapsedSince = (time: number): number => Math.abs(now() - time);

  const fetchKeys = async (): Promise<void> => {
    const url = jwksUrl ?? (await issuerDocument(issuer, fetchJson)).jwks_uri;
    if (url === undefined || url === null) throw new Error(`the metadata of the issuer ${issuer} name no jwks_uri`);
    find = createLocalJWKSet(keySet.parse(await fetchJson(url)));
    fetchedAt = now();
  };

  /** Fetches the keys unless that was tried a moment ago; a failure leaves the keys as they are. */
  const refresh = (): Promise<void> => {
    if (fetching) return fetching;
    if (elapsedSince(triedAt) < COOLDOWN_MS) return Promise.resolve();
    triedAt = now();
    fetching = fetchKeys()
      .catch((error: unknown) => {
        failure = error;
      })
      .finally(() => {
        fetching = undefined;
      });
    return fetching;
  };

  return async (header, token) => {
    if (!find) await refresh();
    else if (elapsedSince(fetchedAt) > FRESH_MS) void refresh();
    if (!find) throw unreachable(issuer, failure);
    try {
      return await find(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      await refresh();
      return find(header, token);
    }
  };
};
