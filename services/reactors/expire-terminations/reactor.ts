import type { ExpireTermination } from '../../execution/commands.js';
import { endsExecution, EXECUTION_CATEGORY, executionCodec } from '../../execution/events.js';
import { metadataOf, type RecordedEvent } from '../../kernel/event.js';
import type { EventLog } from '../../kernel/event-store.js';
import type { CommandContext } from '../../kernel/sessions.js';
import type { StreamName } from '../../kernel/stream.js';

/** The clock that a reactor goes by. */
export interface Timers {
  /** Milliseconds since 1970. */
  now(): number;
  /** Runs something after so many milliseconds, at once when there are none left, unless the answer is called before. */
  after(delayMs: number, run: () => void): () => void;
}

export type ExpireTerminationsOptions = {
  readonly log: Pick<EventLog, 'subscribe' | 'readStream'>;
  /** Has the command decided; nothing is recorded when the execution has ended meanwhile. */
  readonly expire: (stream: StreamName, command: ExpireTermination, context: CommandContext) => Promise<unknown>;
  /** How long an engine has to end what was terminated, in milliseconds. */
  readonly afterMs: number;
  readonly timers: Timers;
  /** Hears of every failure; what failed is tried again. */
  readonly onFailure: (error: unknown) => void;
};

/** A reactor at work. */
export interface ExpireTerminations {
  /** Rejects when the log could not be followed any further. */
  readonly ended: Promise<void>;
  close(): Promise<void>;
}

const RETRY_MS = 5_000;

const hex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

/** What was recorded after a termination is little: the rest of the stream is not read. */
const hasEnded = async (
  log: ExpireTerminationsOptions['log'],
  { stream, revision }: Pick<RecordedEvent, 'stream' | 'revision'>,
): Promise<boolean> => {
  for await (const page of log.readStream(stream, { from: revision + 1n }))
    for (const event of page)
      if (endsExecution(executionCodec.decode(event.type, event.data, metadataOf(event).schema))) return true;
  return false;
};

/**
 * Ends executions whose engine does not: a time after each termination, counted from when it was recorded, also over
 * restarts. The log is asked for terminations alone, so that a start costs what they cost.
 */
export const expireTerminations = (options: ExpireTerminationsOptions): ExpireTerminations => {
  const { log, expire, afterMs, timers, onFailure } = options;
  const cancels = new Set<() => void>();
  let isClosed = false;
  // One after another: after a long stop, many are due at once.
  let last = Promise.resolve();

  const settle = async (event: RecordedEvent): Promise<void> => {
    const termination = executionCodec.decode(event.type, event.data, metadataOf(event).schema);
    if (termination.type !== 'TerminationRequested' || termination.data.id === undefined) return;
    if (await hasEnded(log, event)) return;
    const { project, domain, name } = termination.data.id;
    const cause = hex(event.id);
    await expire(
      event.stream,
      { type: 'ExpireTermination', id: { project, domain, name }, afterMs },
      { actor: 'expire-terminations', commandId: `expire-${cause}`, causationId: cause },
    );
  };

  const attempt = (event: RecordedEvent): void => {
    last = last.then(async () => {
      if (isClosed) return;
      await settle(event).catch((error: unknown) => {
        onFailure(error);
        arm(RETRY_MS, event);
      });
    });
  };

  const arm = (delayMs: number, event: RecordedEvent): void => {
    if (isClosed) return;
    const cancel = timers.after(delayMs, () => {
      cancels.delete(cancel);
      attempt(event);
    });
    cancels.add(cancel);
  };

  const subscription = log.subscribe(
    { after: 0n, filter: { categories: [EXECUTION_CATEGORY], types: ['TerminationRequested'] } },
    ({ events }) => {
      for (const event of events) arm(metadataOf(event).recordedAtMs + afterMs - timers.now(), event);
    },
  );

  return {
    ended: subscription.ended,
    close: async () => {
      isClosed = true;
      for (const cancel of cancels) cancel();
      await subscription.close();
      await last;
    },
  };
};
