import { endsExecution, executionCodec } from '../../execution/events.js';
import { metadataOf, type RecordedEvent } from '../../kernel/event.js';
import type { EventLog } from '../../kernel/event-store.js';
import type { StreamName } from '../../kernel/stream.js';

/** Little is recorded after the end of an execution. */
const LAST_EVENTS = 8;

const isEnd = (event: RecordedEvent): boolean => {
  const { type, data } = event;
  if (type !== 'EngineReported' && type !== 'ExecutionExpired') return false;
  return endsExecution(executionCodec.decode(type, data, metadataOf(event).schema));
};

/** Whether an execution is seen to have ended without reading all of it; where it is not, its state says so. */
export const isSeenToHaveEnded = async (log: Pick<EventLog, 'readStream'>, stream: StreamName): Promise<boolean> => {
  for await (const page of log.readStream(stream, { direction: 'backwards', limit: LAST_EVENTS }))
    if (page.some(isEnd)) return true;
  return false;
};
