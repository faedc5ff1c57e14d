/** Formats bytes, such as an id, as lower-case hexadecimal digits. */
export const hexText = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex');

/** Formats the 16 bytes of a UUID as text. */
export const uuidText = (id: Uint8Array): string => {
  const text = hexText(id);
  return `${text.slice(0, 8)}-${text.slice(8, 12)}-${text.slice(12, 16)}-${text.slice(16, 20)}-${text.slice(20)}`;
};
