import { type Outgoing, sizeOf } from './message.js';

/** Splits messages into batches of at most `maxBytes`, in order; a message that is larger goes alone. */
export const batches = function* (messages: readonly Outgoing[], maxBytes: number): Generator<readonly Outgoing[]> {
  let from = 0;
  let bytes = 0;
  for (const [at, message] of messages.entries()) {
    const size = sizeOf(message);
    if (bytes + size > maxBytes && at > from) {
      yield messages.slice(from, at);
      from = at;
      bytes = 0;
    }
    bytes += size;
  }
  if (from < messages.length) yield messages.slice(from);
};
