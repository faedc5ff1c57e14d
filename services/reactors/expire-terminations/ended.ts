import { recordsEnd } from '../../execution/events.js';
import type { EventLog } from '../../kernel/ports/event-store.js';
import type { StreamName } from '../../kernel/stream.js';

/** Little is recorded after the end of an execution. */
const LAST_EVENTS = 8;

/** Whether an execution is seen to have ended without reading all of it; where it is not, its state says so. */
export const isSeenToHaveEnded = async (log: Pick<EventLog, 'readStream'>, stream: StreamName): Promise<boolean> => {
  for await (const page of log.readStream(stream, { direction: 'backwards', limit: LAST_EVENTS }))
    if (page.some(recordsEnd)) return true;
  return false;
};
