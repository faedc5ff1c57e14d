/** Formats the 16 bytes of a UUID as text. */
export const uuidText = (id: Uint8Array): string => {
  const text = Buffer.from(id.buffer, id.byteOffset, id.length).toString('hex');
  return `${text.slice(0, 8)}-${text.slice(8, 12)}-${text.slice(12, 16)}-${text.slice(16, 20)}-${text.slice(20)}`;
};
