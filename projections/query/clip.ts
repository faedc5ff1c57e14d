const decoder = new TextDecoder();
const encoder = new TextEncoder();

const MAX_BYTES = 100;

/** How much of an error's text a list shows, in bytes; a character that does not fit as a whole is left out. */
export const clip = (text: string): string => {
  if (text.length <= MAX_BYTES / 3) return text;
  const bytes = encoder.encode(text);
  if (bytes.length <= MAX_BYTES) return text;
  let end = MAX_BYTES;
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return decoder.decode(bytes.subarray(0, end));
};
