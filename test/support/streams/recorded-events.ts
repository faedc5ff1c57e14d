import { BinaryReader } from '@bufbuild/protobuf/wire';
import type { EventWatch } from '../../../engine/options.js';
import { reportIn } from '../../../services/execution/wire/engine-report.js';
import type { EventLog } from '../../../services/kernel/ports/event-store.js';
import { sha256Hex } from '../../../services/kernel/encoding/hash.js';
import type { Content } from '../../../services/kernel/ports/payload-store.js';

/** The field `event` of a request, number 2 in all three kinds; the log stores it byte for byte. */
const eventIn = (request: Uint8Array): Uint8Array => {
  const reader = new BinaryReader(request);
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (field === 2) return reader.bytes();
    reader.skip(wireType);
  }
  throw new Error('a request without an event');
};

/** The record of the answers that engines got for their events. */
export type RecordedEvents = {
  readonly watch: EventWatch;
  /** The SHA-256 hashes of the acknowledged events, in hexadecimal. */
  readonly hashes: ReadonlySet<string>;
  /** The number of events without an answer. */
  readonly inFlight: () => number;
};

/** Makes a watch for engines that remembers the acknowledged events. */
export const watchRecorded = (): RecordedEvents => {
  const hashes = new Set<string>();
  let inFlight = 0;
  const watch: EventWatch = {
    sending: () => void (inFlight += 1),
    answered: (request, answer) => {
      inFlight -= 1;
      if (answer === 'recorded') hashes.add(sha256Hex(eventIn(request)));
    },
  };
  return { watch, hashes, inFlight: () => inFlight };
};

/** The event types that store the reports of engines. */
const REPORT_TYPES = ['WorkflowPhaseReported', 'NodePhaseReported', 'TaskPhaseReported', 'EngineReported'];

/** Counts how often the log has each event of an engine, by its hash. */
export const timesInLog = async (
  log: Pick<EventLog, 'readLog'>,
  read: (content: Content) => Promise<Uint8Array>,
): Promise<ReadonlyMap<string, number>> => {
  const times = new Map<string, number>();
  for await (const { events } of log.readLog({ after: 0n, filter: { types: REPORT_TYPES } })) {
    for (const { type, data } of events) {
      const hash = sha256Hex(await read(reportIn(type, data)!.message));
      times.set(hash, (times.get(hash) ?? 0) + 1);
    }
  }
  return times;
};
