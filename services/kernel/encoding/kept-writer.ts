import { BinaryWriter } from '@bufbuild/protobuf/wire';

/**
 * Makes an encoder of many small messages, which keeps one writer: the buffer of a new writer is made again, and doubled
 * several times, for each message. A message that cannot be written leaves nothing behind for the next.
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
