/** The bytes before a message: flag and length. https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md */
export const HEAD_BYTES = 5;

/** Frames messages for sending, uncompressed and one after another. */
export const framesOf = (messages: readonly Uint8Array[]): Buffer => {
  const framed = Buffer.allocUnsafe(messages.reduce((bytes, { length }) => bytes + HEAD_BYTES + length, 0));
  let at = 0;
  for (const message of messages) {
    framed[at] = 0;
    framed.writeUInt32BE(message.length, at + 1);
    framed.set(message, at + HEAD_BYTES);
    at += HEAD_BYTES + message.length;
  }
  return framed;
};

/** Frames a message for sending, uncompressed. */
export const frameOf = (message: Uint8Array): Buffer => framesOf([message]);
