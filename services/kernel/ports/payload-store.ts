import { CorruptPayload } from '../fault.js';

/** The name of an object: by content, inside a scope. The shape of `platformidl.eventlog.PayloadRef`. */
export type PayloadRef = {
  /** `definitions/{project}`, or `runs/{project}/{domain}/{execution}`. */
  readonly scope: string;
  /** SHA-256 of the bytes, lower-case hexadecimal. */
  readonly sha256: string;
  readonly sizeBytes: bigint;
  readonly keyId: string;
};

/** What is too large for an event. Objects are immutable and named by their content. */
export interface PayloadStore {
  /**
   * Stores the bytes, durably before it answers. Storing what is there already renews its time and is cheap.
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

/** Bytes in the event or beside it. The shape of `platformidl.eventlog.Content`. */
export type Content = {
  content:
    | { readonly case: 'inline'; readonly value: Uint8Array }
    | { readonly case: 'ref'; readonly value: PayloadRef }
    | { readonly case: undefined; readonly value?: undefined };
};

/** Above this, bytes go to the payload store, in bytes. */
export const MAX_INLINE_BYTES = 64 * 1024;

/**
 * The bytes of a content, wherever they are.
 *
 * @throws {CorruptPayload} when the object that the content names is not there.
 */
export const bytesOf = async ({ content }: Content, payloads: PayloadStore): Promise<Uint8Array> => {
  if (content.case === undefined) return new Uint8Array();
  if (content.case === 'inline') return content.value;
  const bytes = await payloads.get(content.value);
  if (bytes === undefined)
    throw new CorruptPayload(`payload ${content.value.scope}/${content.value.sha256} is missing`);
  return bytes;
};
