import { assertPageBytes } from '../page-bytes.js';
import type { Slice } from './query-messages.js';

/** Size at which a slice is sent. */
const SLICE_BYTES = 1024 * 1024;

/** Collects elements into slices, so that a long page is never entirely in the memory of the reading thread. */
export type Slices = {
  /** @throws {PageTooLarge} when the page exceeds the limit of a response. */
  readonly add: (element: Uint8Array) => void;
  /** Sends the last slice. */
  readonly flush: () => void;
};

/** Creates a collector; `send` takes ownership of the slices. */
export const slices = (send: (slice: Slice) => void): Slices => {
  let bytes = new Uint8Array(0);
  let ends: number[] = [];
  let used = 0;
  let total = 0;
  const flush = (): void => {
    // A slice that is less than half full is copied, so that it does not retain a whole buffer.
    if (ends.length > 0) send({ bytes: used < bytes.length / 2 ? bytes.slice(0, used) : bytes, ends });
    ends = [];
    used = 0;
  };
  const add = (element: Uint8Array): void => {
    total += element.length;
    assertPageBytes(total);
    if (ends.length > 0 && used + element.length > bytes.length) flush();
    if (ends.length === 0) bytes = new Uint8Array(Math.max(SLICE_BYTES, element.length));
    bytes.set(element, used);
    used += element.length;
    ends.push(used);
  };
  return { add, flush };
};

/** The elements of a slice, as views of its bytes. */
export const sliceElements = ({ bytes, ends }: Slice): readonly Uint8Array[] =>
  ends.map((end, i) => bytes.subarray(ends[i - 1] ?? 0, end));
