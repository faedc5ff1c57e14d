import { PageTooLarge } from '../../services/kernel/fault.js';

/** Limit of the elements of a page, together. */
const MAX_PAGE_BYTES = 256 * 1024 * 1024;

/** @throws {PageTooLarge} when the elements of a page have too many bytes together. */
export const assertPageBytes = (bytes: number): void => {
  if (bytes > MAX_PAGE_BYTES) throw new PageTooLarge(`the page is larger than ${MAX_PAGE_BYTES} bytes`);
};
