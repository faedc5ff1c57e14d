import { EXECUTION_CATEGORY, type ExecutionId } from '../../kernel/execution-id.js';
import type { EventLog } from '../../kernel/ports/event-store.js';
import { streamName } from '../../kernel/stream.js';

/** Returns a function that tells whether a log has an execution. */
export const executionExistsIn =
  (log: Pick<EventLog, 'readStream'>) =>
  async ({ project, domain, name }: ExecutionId): Promise<boolean> => {
    const stream = streamName(EXECUTION_CATEGORY, [project, domain, name]);
    for await (const page of log.readStream(stream, { limit: 1 })) if (page.length > 0) return true;
    return false;
  };
