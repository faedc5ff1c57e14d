import type { ExpireTermination, TimeOutExecution } from '../../execution/commands.js';
import { EXECUTION_CATEGORY, executionCodec } from '../../execution/events.js';
import type { Checkpoint } from '../../kernel/checkpoint.js';
import { metadataOf, type RecordedEvent } from '../../kernel/event.js';
import type { EventLog } from '../../kernel/event-store.js';
import type { Reactor } from '../../kernel/reactor.js';
import type { CommandContext } from '../../kernel/sessions.js';
import type { StreamName } from '../../kernel/stream.js';
import type { Timers } from '../../kernel/timers.js';
import { isSeenToHaveEnded } from './ended.js';
import { whenDue } from './when-due.js';

export type ExpiryOptions = {
  readonly log: Pick<EventLog, 'subscribe' | 'readStream'>;
  readonly checkpoint: Checkpoint;
  /** Has the command decided; nothing is recorded when the execution has ended meanwhile. */
  readonly handle: (
    stream: StreamName,
    command: ExpireTermination | TimeOutExecution,
    context: CommandContext,
  ) => Promise<unknown>;
  /** How long the engine has, in milliseconds. */
  readonly afterMs: number;
  readonly timers: Timers;
  /** Hears of every failure; what failed is tried again. */
  readonly onFailure: (error: unknown) => void;
};

/** What is done with which events, under which name. */
type Expiry = {
  readonly name: string;
  readonly types: readonly string[];
  readonly command: (ExpireTermination | TimeOutExecution)['type'];
};

const hex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

const idIn = (event: RecordedEvent) => {
  const { data } = executionCodec.decode(event.type, event.data, metadataOf(event).schema);
  return 'id' in data ? data.id : undefined;
};

const follow = ({ name, types, command: type }: Expiry, options: ExpiryOptions): Reactor => {
  const { log, handle, afterMs } = options;
  const settle = async (event: RecordedEvent): Promise<void> => {
    const id = idIn(event);
    if (id === undefined || (await isSeenToHaveEnded(log, event.stream))) return;
    const { project, domain, name: execution } = id;
    const cause = hex(event.id);
    const context = { actor: name, commandId: `${name}-${cause}`, causationId: cause };
    await handle(event.stream, { type, id: { project, domain, name: execution }, afterMs }, context);
  };
  return whenDue({ ...options, filter: { categories: [EXECUTION_CATEGORY], types }, settle });
};

/**
 * Ends executions whose engine does not: a time after each termination, whoever began it, counted from when it was
 * recorded, also over restarts.
 */
export const expireTerminations = (options: ExpiryOptions): Reactor =>
  follow(
    {
      name: 'expire-terminations',
      types: ['TerminationRequested', 'TerminationAnnounced'],
      command: 'ExpireTermination',
    },
    options,
  );

/** Aborts executions that take too long, a time after each was created. */
export const timeOutExecutions = (options: ExpiryOptions): Reactor =>
  follow({ name: 'time-out-executions', types: ['ExecutionCreated'], command: 'TimeOutExecution' }, options);
