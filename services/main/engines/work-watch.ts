import type { EventLog } from '../../kernel/ports/event-store.js';

/** The events that give an engine something to do. */
const WORK = { types: ['ExecutionCreated', 'TerminationRequested'] };

/** Calls `wake` for each page of new {@link WORK} events from now on, until the log is closed. */
export const watchWork = (log: Pick<EventLog, 'head' | 'subscribe'>, wake: () => void): void => {
  const watch = async (): Promise<void> => {
    const after = await log.head();
    await log.subscribe({ after, filter: WORK }, ({ events }) => (events.length > 0 ? wake() : undefined)).ended;
  };
  watch().catch(() => undefined); // an engine that is not woken polls
};
