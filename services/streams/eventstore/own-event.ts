import type { NewEvent } from '../../kernel/event.js';
import { metadataFor } from './event-metadata.js';

/** The clock, and the source of event ids, of 16 bytes each. */
type Sources = { readonly now: () => number; readonly newId: () => Uint8Array };

/** The data of an event as text, and its custom metadata, empty by default. */
type Content = { readonly data: string; readonly custom?: Uint8Array; readonly isJson?: boolean };

/** Makes an event that the server itself records; its data is JSON unless `isJson` is false. */
export const ownEvent = (
  { now, newId }: Sources,
  type: string,
  { data, custom = new Uint8Array(), isJson = true }: Content,
): NewEvent => ({
  id: newId(),
  type,
  data: Buffer.from(data),
  metadata: metadataFor({ custom, isJson, recordedAtMs: now() }),
});
