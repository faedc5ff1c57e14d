import type { RecordedEvent } from '../../services/kernel/event.js';
import type { StreamName } from '../../services/kernel/stream.js';

/** A stream of a sample. */
export type SampledStream = {
  readonly stream: StreamName;
  /** The events added; `undefined` when they did not fit into memory, or one between them was not added. */
  readonly events: readonly RecordedEvent[] | undefined;
};

/** Limits of a sample: the number of its streams, and the memory for their events. */
export type SampleLimits = { readonly streams: number; readonly bytes: number };

/** A sample of the streams of a log, spread evenly over them: all of them, or every second, every fourth, … */
export type StreamSample = {
  /** Takes the next event of the log. */
  readonly add: (event: RecordedEvent) => void;
  readonly streams: () => readonly SampledStream[];
};

/** Memory that an event takes beside its data and metadata. */
const OVERHEAD_BYTES = 600;

const sizeOf = ({ data, metadata }: RecordedEvent): number => data.length + metadata.length + OVERHEAD_BYTES;

/** Copies the bytes of an event, which share their memory with those of other events. */
const copied = (event: RecordedEvent): RecordedEvent => {
  const { id, data } = event;
  const bytes = new Uint8Array(id.length + data.length);
  bytes.set(id);
  bytes.set(data, id.length);
  return { ...event, id: bytes.subarray(0, id.length), data: bytes.subarray(id.length) };
};

/** When the memory is full, this share of it is freed at once. */
const FREED = 0.25;

/**
 * Creates a sample. When its memory is full, the longest streams give theirs up: it costs least to read these again.
 */
export const streamSample = ({ streams: most, bytes: maxBytes }: SampleLimits): StreamSample => {
  const kept = new Map<StreamName, RecordedEvent[] | undefined>();
  let step = 1;
  let count = 0;
  let bytes = 0;

  const release = (stream: StreamName): void => {
    for (const event of kept.get(stream) ?? []) bytes -= sizeOf(event);
    kept.set(stream, undefined);
  };

  const thin = (): void => {
    for (const [index, stream] of [...kept.keys()].entries()) {
      if (index % 2 === 0) continue;
      release(stream);
      kept.delete(stream);
    }
    step *= 2;
  };

  const free = (): void => {
    const longestFirst = [...kept].sort(([, a = []], [, b = []]) => b.length - a.length);
    for (const [stream] of longestFirst) {
      if (bytes <= maxBytes * (1 - FREED)) return;
      release(stream);
    }
  };

  const keep = (event: RecordedEvent): void => {
    const events = kept.get(event.stream);
    if (events === undefined) return;
    if (event.revision !== BigInt(events.length)) {
      release(event.stream);
      return;
    }
    events.push(copied(event));
    bytes += sizeOf(event);
    if (bytes > maxBytes) free();
  };

  return {
    add: (event) => {
      if (event.revision === 0n) {
        if (count % step === 0) kept.set(event.stream, maxBytes === 0 ? undefined : []);
        count += 1;
        if (kept.size > most) thin();
      }
      keep(event);
    },
    streams: () => [...kept].map(([stream, events]) => ({ stream, events })),
  };
};
