import type { RecordedEvent } from '../../kernel/event.js';

/** Encodes each event once for all tails that share it, as they share the events of the live feed. */
export const encodeOnce = (
  encode: (event: RecordedEvent) => Promise<Uint8Array>,
): ((event: RecordedEvent) => Uint8Array | Promise<Uint8Array>) => {
  const known = new WeakMap<RecordedEvent, Uint8Array | Promise<Uint8Array>>();
  const encoded = async (event: RecordedEvent): Promise<Uint8Array> => {
    try {
      const bytes = await encode(event);
      known.set(event, bytes);
      return bytes;
    } catch (error) {
      known.delete(event); // the next tail tries again: a payload may have been out of reach
      throw error;
    }
  };
  return (event) => {
    const found = known.get(event);
    if (found) return found;
    const encoding = encoded(event);
    known.set(event, encoding);
    return encoding;
  };
};
