import { createHash } from 'node:crypto';
import { type Adapter, type AdapterPayload, errors } from 'oidc-provider';
import type { AuthorizationState, FoundObject } from '../../kernel/ports/authorization-state.js';
import { type Clients, clientMetadataOf } from './clients.js';

/** The objects that belong to a grant, and end with it. */
const OF_A_GRANT = ['AccessToken', 'AuthorizationCode', 'RefreshToken', 'DeviceCode'];

const GRANT = 'Grant';

/**
 * The key of an object is a hash of its id: many ids are secrets, which the stored state should not have in clear. Some
 * contents have one nevertheless: that of a device code its own, and that of an interaction those of its session and
 * its device code.
 */
const keyOf = (id: string): string => createHash('sha256').update(id).digest('base64url');

const seconds = (now: () => number): number => Math.floor(now() / 1_000);

/** The payload as JSON, without `jti`, the id, which is often a secret. */
const contentOf = ({ jti: _id, ...payload }: AdapterPayload): string => JSON.stringify(payload);

const payloadOf = (found: FoundObject | undefined, id: string | undefined): AdapterPayload | undefined => {
  if (found === undefined) return undefined;
  const { jti: _hidden, hiddenId, ...payload } = JSON.parse(found.content) as AdapterPayload & { hiddenId?: string };
  const tokenId = id ?? hiddenId;
  return {
    ...payload,
    ...(tokenId !== undefined && { jti: tokenId }),
    ...(found.consumedAt !== undefined && { consumed: found.consumedAt }),
  };
};

const onlyFound = (): Promise<never> =>
  Promise.reject(
    new Error('clients can only be found by their ids; the configuration and `flightlog client` change them'),
  );

/** Finds clients by their ids: those of the configuration and the clients file, and the built-in public ones. */
const clientAdapter = (clients: Clients): Adapter => ({
  find: async (id) => {
    const found = await clients.find(id);
    return found === undefined ? undefined : clientMetadataOf(id, found);
  },
  upsert: onlyFound,
  findByUserCode: onlyFound,
  findByUid: onlyFound,
  consume: onlyFound,
  destroy: onlyFound,
  revokeByGrantId: onlyFound,
});

/**
 * True for device codes: one that was found by its user code is stored again under its id, which must then come from
 * its content. It is there as `hiddenId`.
 */
const needsItsId = (kind: string): boolean => kind === 'DeviceCode';

/** Stores one kind of the objects of `oidc-provider`. */
const objectAdapter = (kind: string, state: AuthorizationState, now: () => number): Adapter => {
  /** The grant goes first: a token that another request stores meanwhile is then removed as well, or has no grant. */
  const endGrant = async (grant: string): Promise<void> => {
    await state.remove(GRANT, keyOf(grant));
    await state.removeGrant(OF_A_GRANT, grant);
  };
  return {
    upsert: (id, payload, expiresIn) =>
      state.put({
        kind,
        key: keyOf(id),
        content: contentOf(needsItsId(kind) ? { ...payload, hiddenId: id } : payload),
        grant: payload.grantId,
        alias: payload.userCode ?? (kind === 'Session' ? payload.uid : undefined),
        expiresAt: expiresIn === undefined ? undefined : seconds(now) + expiresIn,
      }),
    find: async (id) => payloadOf(await state.find(kind, keyOf(id)), id),
    findByUid: async (uid) => payloadOf(await state.findByAlias(kind, uid), undefined),
    findByUserCode: async (code) => payloadOf(await state.findByAlias(kind, code), undefined),
    consume: async (id) => {
      if (await state.consume(kind, keyOf(id), seconds(now))) return;
      // Another request has used it before, and one of the two may have stolen it: the grant ends for both.
      const used = payloadOf(await state.find(kind, keyOf(id)), id);
      if (used?.grantId !== undefined) await endGrant(used.grantId);
      throw new errors.InvalidGrant(`${kind} already used`);
    },
    destroy: (id) => state.remove(kind, keyOf(id)),
    revokeByGrantId: (grant) => state.removeGrant([kind], grant),
  };
};

/** Makes the storage of `oidc-provider`: an adapter for each kind of object. */
export const adapters =
  (state: AuthorizationState, clients: Clients, now: () => number = Date.now) =>
  (kind: string): Adapter =>
    kind === 'Client' ? clientAdapter(clients) : objectAdapter(kind, state, now);
