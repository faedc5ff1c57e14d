/** Longer texts are not kept. `TextDecoder` is faster for them than reading one character code after another. */
export const MAX_SHORT_BYTES = 64;

/** The number of texts that are kept; a power of two. */
const SLOTS = 1024;

/**
 * Texts that were decoded before, each in the slot of its hash, where another text replaces it. Messages repeat the
 * names of projects, executions and nodes: finding a text here takes a quarter of the time of decoding it, and no
 * memory.
 */
const slots: string[] = Array.from({ length: SLOTS }, () => '');

const isTextAt = (text: string, bytes: Uint8Array, start: number, end: number): boolean => {
  if (text.length !== end - start) return false;
  for (let at = start; at < end; at += 1) if (text.charCodeAt(at - start) !== bytes[at]) return false;
  return true;
};

/** The slot of a text by its hash; -1 when it has a byte that is not ASCII. */
const slotOf = (bytes: Uint8Array, start: number, end: number): number => {
  let hash = 0;
  let seen = 0;
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at] ?? 0;
    seen |= byte;
    hash = (Math.imul(hash, 31) + byte) | 0;
  }
  return seen >= 0x80 ? -1 : (hash ^ (hash >>> 15)) & (SLOTS - 1);
};

/**
 * Decodes the text of at most {@link MAX_SHORT_BYTES} bytes between two offsets, if all of it is ASCII; `undefined` if
 * not.
 */
export const shortAsciiAt = (bytes: Uint8Array, start: number, end: number): string | undefined => {
  const slot = slotOf(bytes, start, end);
  if (slot < 0) return undefined;
  const kept = slots[slot] ?? '';
  if (isTextAt(kept, bytes, start, end)) return kept;
  const text = String.fromCharCode.apply(undefined, bytes.subarray(start, end) as unknown as number[]);
  slots[slot] = text;
  return text;
};
