/** One call, attempt to sign in, or loss of entries, as auditors see it. Texts are empty where they do not apply. */
export type AuditEntry = {
  /**
   * `call`: an RPC, a page, or a command of the command line; `sign-in`: at the authorization server; `dropped`:
   * entries that could not be kept.
   */
  readonly kind: 'call' | 'sign-in' | 'dropped';
  /** Milliseconds since 1970; of the first where several are counted together. */
  readonly atMs: number;
  /** Of the last where several are counted together. */
  readonly lastAtMs: number;
  /** The number of equal refusals that are counted together, otherwise 1; for `dropped` the number of lost entries. */
  readonly count: number;
  readonly principal: string;
  readonly issuer: string;
  readonly clientId: string;
  /** `grpc`, `rest` or `eventstoredb`; `command-line` for a change of users or clients by the command line. */
  readonly transport: string;
  /** The address of the client, without a port; for `command-line` the name of the machine. */
  readonly address: string;
  /**
   * An RPC such as `AdminService.CreateTask`, the path of a page, an endpoint or an EventStoreDB method, or a command
   * such as `flightlog user add`.
   */
  readonly action: string;
  readonly project: string;
  readonly domain: string;
  readonly name: string;
  /** The status that the caller was given. */
  readonly code: string;
  /**
   * The reason of a refusal, or of the loss of entries; empty for other calls. Of the request it has at most the
   * project and domain.
   */
  readonly reason: string;
  readonly requestId: string;
  /** The position of the log that the answer reflects, if any. */
  readonly position: bigint | undefined;
};

/** A stored entry; ids ascend in the order in which entries were stored. */
export type StoredAuditEntry = AuditEntry & { readonly id: bigint };

/** A query of entries; empty texts ask for all. */
export type AuditQuery = {
  readonly project: string;
  readonly domain: string;
  /** The principal of the entries. */
  readonly actor: string;
  /** Only entries whose last time is at or after this one, in milliseconds since 1970. */
  readonly sinceMs: number;
  /** Only entries with a larger id. */
  readonly after: bigint;
  readonly limit: number;
};

/** A store of audit entries. */
export interface AuditStore {
  /**
   * Stores all entries or none; durable when it resolves.
   *
   * @param key differs for each batch. A store that throws OutcomeUnknown stores a batch once, also when it is written
   *   again under its key. Without a key, each write stores it.
   * @throws {OutcomeUnknown} when the entries may have been stored: write them again under the same key.
   * @throws {WriteRefused} when one of the entries, or their number, is refused and would be refused again. Only stores
   *   whose operator can give them rules or limits throw it.
   */
  write(entries: readonly AuditEntry[], key?: string): Promise<void>;
  /** @returns entries by ascending id. */
  list(query: AuditQuery): Promise<readonly StoredAuditEntry[]>;
  /** Removes entries whose last time is before this one, in milliseconds since 1970. */
  removeBefore(ms: number): Promise<void>;
  close(): Promise<void>;
}

/** The record of changes and refusals, with their callers. */
export interface AuditTrail {
  /** Notes an entry; it is stored a moment later, together with others. */
  record(entry: AuditEntry): void;
  /**
   * Lists entries, including those that this process has recorded before, unless the store does not take them within 5
   * seconds.
   */
  list(query: AuditQuery): Promise<readonly StoredAuditEntry[]>;
  close(): Promise<void>;
}
