import type { Aggregate } from '../kernel/aggregate.js';
import type { RecordedEvent } from '../kernel/event.js';
import type { StreamParked } from '../kernel/fault.js';
import type { Appended, EventStore } from '../kernel/ports/event-store.js';
import type { PayloadStore } from '../kernel/ports/payload-store.js';
import type { CommandContext, Folded, Outcome } from '../kernel/ports/sessions.js';
import type { StreamName } from '../kernel/stream.js';

/** The services of the process that sessions need. */
export type SessionServices = {
  readonly store: EventStore;
  readonly payloads: PayloadStore;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** The log format in which events are encoded; by default the newest. */
  readonly format?: () => number;
  /** True when other processes append to the log too. */
  readonly isShared?: boolean;
  /** Called with each stream that cannot be folded. */
  readonly onParked?: (parked: StreamParked) => void;
};

/** The input from which a session is made. */
export type SessionStart<State, Command, Event, Refusal> = {
  readonly aggregate: Aggregate<State, Command, Event, Refusal>;
  readonly stream: StreamName;
  readonly services: SessionServices;
  /** Called once for each command whose events have become durable. */
  readonly onDurable: (appended: Appended) => void;
};

/** A live stream: its state with all events in flight, and the commands and reads that wait for their turns. */
export interface Session<State, Command, Refusal> {
  /** Decides a command, and records its events. */
  handle(command: Command, context: CommandContext): Promise<Outcome<Refusal>>;
  /** Computes an answer from the durable state; on a shared log, from all that any process had recorded before. */
  read<Answer>(look: (folded: Folded<State>) => Answer): Promise<Answer>;
  /** Computes an answer from the durable state that this process knows. */
  readKnown<Answer>(look: (folded: Folded<State>) => Answer): Promise<Answer>;
  /** To be called with each event of the stream, in order, recorded by any process. */
  observe(event: RecordedEvent): void;
  /** Lets the stream be read again after it was parked. */
  resume(): void;
  /** The approximate memory, in bytes. */
  size(): number;
  /** True when no turn waits and no append is in flight. */
  isIdle(): boolean;
  /** True when hardly any further use is expected, as after the end of an execution: it is evicted first. */
  isOver(): boolean;
}
