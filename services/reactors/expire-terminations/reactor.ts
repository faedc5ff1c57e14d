import type { ExpireTermination, TimeOutExecution } from '../../execution/commands.js';
import { executionCodec, recordsEnd } from '../../execution/events.js';
import { decodeEvent, recordedMetadata } from '../../kernel/decode-event.js';
import type { RecordedEvent } from '../../kernel/event.js';
import type { Checkpoint } from '../../kernel/ports/checkpoint.js';
import type { EventLog } from '../../kernel/ports/event-store.js';
import type { CommandContext } from '../../kernel/ports/sessions.js';
import type { Timers } from '../../kernel/ports/timers.js';
import type { StreamName } from '../../kernel/stream.js';
import { type DeadLetterRule, type MeasuredReactor, whenDue } from '../frame/when-due.js';
import { EXECUTION_CATEGORY } from '../../kernel/execution-id.js';
import { uuidText } from '../../kernel/encoding/id-text.js';

/** Number of last events to read: few events are recorded after the end of an execution. */
const LAST_EVENTS = 8;

/**
 * True when the last events of an execution's stream show that it has ended. False does not mean that it still runs:
 * the caller then decides on its full state.
 */
export const hasEnded = async (log: Pick<EventLog, 'readStream'>, stream: StreamName): Promise<boolean> => {
  for await (const page of log.readStream(stream, { direction: 'backwards', limit: LAST_EVENTS }))
    if (page.some(recordsEnd)) return true;
  return false;
};

export type ExpiryOptions = {
  readonly log: Pick<EventLog, 'subscribe' | 'readStream'>;
  readonly checkpoint: Checkpoint;
  /** Handles the command; nothing is recorded when the execution has ended in the meantime. */
  readonly handle: (
    stream: StreamName,
    command: ExpireTermination | TimeOutExecution,
    context: CommandContext,
  ) => Promise<unknown>;
  /** Time limit in milliseconds, counted from when the event was recorded. */
  readonly afterMs: number;
  readonly timers: Timers;
  /**
   * Called with every failure. A failed item is retried until it becomes a dead letter; one of a parked stream is not
   * retried.
   */
  readonly onFailure: (error: unknown) => void;
  /** The rule when failing items become dead letters; without it they are retried for ever. */
  readonly givingUp?: DeadLetterRule;
};

/** A command to send some time after events of some types; `name` is recorded as its actor. */
type Expiry = {
  readonly name: string;
  readonly types: readonly string[];
  readonly command: (ExpireTermination | TimeOutExecution)['type'];
};

type Item = {
  readonly stream: StreamName;
  readonly id: ExpireTermination['id'];
  /** The id of the event, a UUID. */
  readonly cause: string;
  /** W3C trace context of the request behind the event. */
  readonly traceParent: string | undefined;
};

const itemOf = (event: RecordedEvent): Item | undefined => {
  const { data } = decodeEvent(executionCodec, event);
  const id = 'id' in data ? data.id : undefined;
  if (id === undefined) return undefined;
  const { project, domain, name } = id;
  const { traceparent: traceParent } = recordedMetadata(event);
  return { stream: event.stream, id: { project, domain, name }, cause: uuidText(event.id), traceParent };
};

const expiring = ({ name, types, command: type }: Expiry, options: ExpiryOptions): MeasuredReactor => {
  const { log, handle, afterMs } = options;
  const work = async ({ stream, id, cause, traceParent }: Item): Promise<undefined> => {
    if (await hasEnded(log, stream)) return undefined;
    const commandId = `${name}-${cause.replaceAll('-', '')}`; // as earlier releases have recorded it
    const context = { actor: name, commandId, causationId: cause, traceParent };
    await handle(stream, { type, id, afterMs }, context);
    return undefined;
  };
  return whenDue({ ...options, filter: { categories: [EXECUTION_CATEGORY], types }, itemOf, work });
};

/**
 * Ends executions whose engine does not end them: `afterMs` after each termination was recorded, whether a client
 * requested or an engine announced it, also across restarts.
 */
export const expireTerminations = (options: ExpiryOptions): MeasuredReactor =>
  expiring(
    {
      name: 'expire-terminations',
      types: ['TerminationRequested', 'TerminationAnnounced'],
      command: 'ExpireTermination',
    },
    options,
  );

/** Aborts executions that take too long: `afterMs` after each was created. */
export const timeOutExecutions = (options: ExpiryOptions): MeasuredReactor =>
  expiring({ name: 'time-out-executions', types: ['ExecutionCreated'], command: 'TimeOutExecution' }, options);
