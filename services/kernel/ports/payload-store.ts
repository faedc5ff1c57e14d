import { CorruptPayload } from '../fault.js';

/** Reference to an object: its scope, hash, size and encryption key. The shape of `platformidl.eventlog.PayloadRef`. */
export type PayloadRef = {
  /** `definitions/{project}`, or `runs/{project}/{domain}/{execution}`. */
  readonly scope: string;
  /** SHA-256 of the bytes, lower-case hexadecimal. */
  readonly sha256: string;
  readonly sizeBytes: bigint;
  /** The key that the object is encrypted with; empty, because no object is encrypted yet. */
  readonly keyId: string;
};

/** Stores contents that are too large for an event. Objects are immutable and named by their content. */
export interface PayloadStore {
  /**
   * Stores the bytes and resolves when they are durable. Storing the same bytes again renews the time of the object, so
   * that `payloads gc` does not remove it before its event is appended.
   *
   * @throws {StoreUnavailable} when the bytes could not be made durable.
   */
  put(scope: string, bytes: Uint8Array): Promise<PayloadRef>;

  /**
   * @returns the bytes; `undefined` when there is no such object.
   * @throws {CorruptPayload} when the bytes do not hash to their name.
   * @throws {StoreUnavailable} when they could not be read.
   */
  get(ref: PayloadRef): Promise<Uint8Array | undefined>;

  close(): Promise<void>;
}

/** Bytes stored in the event itself or in the payload store. The shape of `platformidl.eventlog.Content`. */
export type Content = {
  content:
    | { readonly case: 'inline'; readonly value: Uint8Array }
    | { readonly case: 'ref'; readonly value: PayloadRef }
    | { readonly case: undefined; readonly value?: undefined };
};

/** Contents larger than this, in bytes, are stored in the payload store. */
export const MAX_INLINE_BYTES = 64 * 1024;

/**
 * Reads the bytes of a content, inline or from the payload store. An absent content has none.
 *
 * @throws {CorruptPayload} when the referenced object is missing, or its bytes do not match its name.
 * @throws {StoreUnavailable} when the object could not be read.
 */
export const bytesOf = async ({ content }: Content, payloads: PayloadStore): Promise<Uint8Array> => {
  if (content.case === undefined) return new Uint8Array();
  if (content.case === 'inline') return content.value;
  const bytes = await payloads.get(content.value);
  if (bytes === undefined)
    throw new CorruptPayload(`payload ${content.value.scope}/${content.value.sha256} is missing`);
  return bytes;
};
