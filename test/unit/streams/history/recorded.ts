import type { RecordedEvent } from '../../../../services/kernel/event.js';
import type { EventLog } from '../../../../services/kernel/ports/event-store.js';
import type { PayloadStore } from '../../../../services/kernel/ports/payload-store.js';

/** The recording time of the event at a revision, in milliseconds since 1970. */
export const recordedAtMs = (revision: bigint): number => 1_700_000_000_000 + Number(revision) * 1_000;

/** Gives events the metadata of a log: revision 3 is recorded by `actor-3` with the request `request-3`. */
export const asRecorded = (events: readonly RecordedEvent[]): readonly RecordedEvent[] =>
  events.map((event) => {
    const { revision } = event;
    const origin = { actor: `actor-${revision}`, commandId: '', $correlationId: `request-${revision}` };
    return { ...event, metadata: JSON.stringify({ recordedAtMs: recordedAtMs(revision), schema: 1, ...origin }) };
  });

/** Reads streams out of events in memory, in pages of two, in both directions. */
export const logIn = (events: readonly RecordedEvent[]): Pick<EventLog, 'readStream'> => ({
  async *readStream(stream, { from, direction = 'forwards', limit = Infinity } = {}) {
    const isForwards = direction === 'forwards';
    const first = from ?? (isForwards ? 0n : BigInt(events.length));
    const inRange = ({ revision }: RecordedEvent): boolean => (isForwards ? revision >= first : revision <= first);
    const found = events.filter((event) => event.stream === stream && inRange(event));
    if (!isForwards) found.reverse();
    const limited = found.slice(0, limit);
    for (let start = 0; start < limited.length; start += 2)
      yield await Promise.resolve(limited.slice(start, start + 2));
  },
});

export const noPayloads: PayloadStore = {
  put: () => Promise.reject(new Error('nothing is large here')),
  get: () => Promise.resolve(undefined),
  close: () => Promise.resolve(),
};
