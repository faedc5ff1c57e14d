/** A digest in the form that filters compare: lower-case hexadecimal. */
export const digestText = (digest: Uint8Array): string => Buffer.from(digest).toString('hex');
