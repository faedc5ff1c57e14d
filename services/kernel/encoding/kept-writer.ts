import { BinaryWriter } from '@bufbuild/protobuf/wire';

/**
 * Makes an encoder of many small messages, which keeps one writer: a new writer for each message would allocate its
 * buffer again, and double it several times. A message that cannot be written leaves no bytes for the next one.
 */
export const keptWriter = (): ((write: (writer: BinaryWriter) => void) => Uint8Array) => {
  let writer = new BinaryWriter();
  return (write) => {
    try {
      write(writer);
      return writer.finish();
    } catch (error) {
      writer = new BinaryWriter();
      throw error;
    }
  };
};
