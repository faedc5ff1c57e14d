import type { StreamIdentifier } from '../../../proto/gen/event_store/client/values_pb.js';
import { invalid, missing } from '../../kernel/rpc.js';
import type { StreamName } from '../../kernel/stream.js';

const MAX_BYTES = 1_024;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Reads the name of a stream.
 *
 * @throws {RpcError} INVALID_ARGUMENT when the name is empty, not UTF-8, longer than 1,024 bytes, or has a NUL.
 */
export const streamOf = (identifier: StreamIdentifier | undefined): StreamName => {
  const bytes = identifier?.streamName;
  if (bytes === undefined || bytes.length === 0) throw missing('options.stream_identifier');
  if (bytes.length > MAX_BYTES) throw invalid('options.stream_identifier', `longer than ${MAX_BYTES} bytes`);
  // The binding of the embedded log ends a text at its first NUL, so it would store another stream than was checked.
  if (bytes.includes(0)) throw invalid('options.stream_identifier', 'it has a NUL character');
  try {
    return utf8.decode(bytes) as StreamName;
  } catch {
    throw invalid('options.stream_identifier', 'it is no UTF-8');
  }
};

/** Converts a stream name to its form in the protocol. */
export const streamIdentifierOf = (stream: string): { streamName: Uint8Array } => ({ streamName: Buffer.from(stream) });
