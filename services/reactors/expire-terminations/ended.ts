import { recordsEnd } from '../../execution/events.js';
import type { EventLog } from '../../kernel/ports/event-store.js';
import type { StreamName } from '../../kernel/stream.js';

/** Number of last events to read: few events are recorded after the end of an execution. */
const LAST_EVENTS = 8;

/**
 * True when the last events of an execution's stream show that it has ended. False may be wrong, so the caller then
 * uses the full state of the execution.
 */
export const hasEnded = async (log: Pick<EventLog, 'readStream'>, stream: StreamName): Promise<boolean> => {
  for await (const page of log.readStream(stream, { direction: 'backwards', limit: LAST_EVENTS }))
    if (page.some(recordsEnd)) return true;
  return false;
};
