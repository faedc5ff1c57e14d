/** The bytes before a message: flag and length. https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md */
export const HEAD_BYTES = 5;

/** Frames a message for sending, uncompressed. */
export const frameOf = (message: Uint8Array): Buffer => {
  const framed = Buffer.allocUnsafe(HEAD_BYTES + message.length);
  framed[0] = 0;
  framed.writeUInt32BE(message.length, 1);
  framed.set(message, HEAD_BYTES);
  return framed;
};
