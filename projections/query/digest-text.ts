/** A digest as filters have it. */
export const digestText = (digest: Uint8Array): string => Buffer.from(digest).toString('hex');
