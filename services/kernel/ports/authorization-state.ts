/** One stored object of the authorization server, such as a code, a refresh token, a session or a grant. */
export type StoredObject = {
  /** For example `AuthorizationCode`. */
  readonly kind: string;
  /** A hash of the id: the id itself is often a secret. */
  readonly key: string;
  /** JSON. */
  readonly content: string;
  /** The grant that the object belongs to, so that all of them can be revoked together. */
  readonly grant: string | undefined;
  /** A second key, unique among the objects of its kind: the user code of a device, the uid of a session. */
  readonly alias: string | undefined;
  /** In seconds since 1970; `undefined` for an object without an end. */
  readonly expiresAt: number | undefined;
};

/** A stored object that was found, and the time at which it was consumed, in seconds since 1970. */
export type FoundObject = { readonly content: string; readonly consumedAt: number | undefined };

/** A private key that signs tokens. */
export type StoredKey = {
  readonly id: string;
  /** JSON Web Key with its private part, as JSON. */
  readonly jwk: string;
  /** In milliseconds since 1970. */
  readonly createdAt: number;
};

/**
 * The durable state of an authorization server. Every write is durable when it resolves.
 *
 * @throws {StoreUnavailable} from every method, when the store cannot be reached.
 */
export interface AuthorizationState {
  /** Replaces an object of the same kind and key; one that was consumed stays consumed. */
  put(object: StoredObject): Promise<void>;
  find(kind: string, key: string): Promise<FoundObject | undefined>;
  findByAlias(kind: string, alias: string): Promise<FoundObject | undefined>;
  /**
   * Marks an object as used. Of any number of concurrent calls, from any process, one gets `true`.
   *
   * @param at in seconds since 1970.
   * @returns false when it was used before, or does not exist.
   */
  consume(kind: string, key: string, at: number): Promise<boolean>;
  remove(kind: string, key: string): Promise<void>;
  /** Removes the objects of these kinds that belong to a grant. */
  removeGrant(kinds: readonly string[], grant: string): Promise<void>;
  /**
   * Removes the objects whose content has this `accountId` at any depth: the sessions, grants and tokens of a person,
   * and sign-ins that have not ended.
   */
  removeAccount(account: string): Promise<void>;
  /** Removes what expired before this time, in seconds since 1970. */
  removeExpired(before: number): Promise<void>;
  /** All keys, the newest first. */
  keys(): Promise<readonly StoredKey[]>;
  addKey(key: StoredKey): Promise<void>;
  removeKeys(ids: readonly string[]): Promise<void>;
  close(): Promise<void>;
}
