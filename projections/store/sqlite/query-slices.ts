import { PageTooLarge } from '../../../services/kernel/fault.js';
import type { Slice } from './query-messages.js';

/** A slice is sent when it has so many bytes. */
const SLICE_BYTES = 1024 * 1024;

/** More than any client takes in one answer. */
const MAX_PAGE_BYTES = 256 * 1024 * 1024;

/** Gathers elements into slices, so that a long page is never in the memory of the thread that reads it. */
export type Slices = {
  /** @throws {PageTooLarge} when the page has more bytes than an answer may have. */
  readonly add: (element: Uint8Array) => void;
  /** Sends what is left. */
  readonly flush: () => void;
};

/** Makes an empty one; `send` may keep the slices that it is given. */
export const slices = (send: (slice: Slice) => void): Slices => {
  let bytes = new Uint8Array(0);
  let ends: number[] = [];
  let used = 0;
  let total = 0;
  const flush = (): void => {
    // A short rest is copied, lest it hold a whole slice.
    if (ends.length > 0) send({ bytes: used < bytes.length / 2 ? bytes.slice(0, used) : bytes, ends });
    ends = [];
    used = 0;
  };
  const add = (element: Uint8Array): void => {
    total += element.length;
    if (total > MAX_PAGE_BYTES) throw new PageTooLarge(`the page is larger than ${MAX_PAGE_BYTES} bytes`);
    if (ends.length > 0 && used + element.length > bytes.length) flush();
    if (ends.length === 0) bytes = new Uint8Array(Math.max(SLICE_BYTES, element.length));
    bytes.set(element, used);
    used += element.length;
    ends.push(used);
  };
  return { add, flush };
};

/** The elements of a slice, which share its bytes. */
export const elementsOf = ({ bytes, ends }: Slice): readonly Uint8Array[] =>
  ends.map((end, i) => bytes.subarray(ends[i - 1] ?? 0, end));
