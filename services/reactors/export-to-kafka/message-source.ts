import type { EventLog, Subscription } from '../../kernel/ports/event-store.js';
import type { RecordedEvent } from '../../kernel/event.js';
import { categoryOf } from '../../kernel/stream.js';
import type { Presenting } from './encoding.js';
import { type ExportFormat, messageMaker, messagesOf, type Outgoing } from './message.js';
import { partOf } from './part-of.js';

/** Which messages are wanted. Can be sent to any thread. */
export type Wanted = {
  /** Of what stands after this position in the log. */
  readonly after: bigint;
  readonly part: number;
  /** Into how many parts the log is divided. */
  readonly parts: number;
  /** The largest message that the topic of a category takes, in bytes; other categories are left out. */
  readonly maxBytes: ReadonlyMap<string, number>;
};

/** Hears of the messages of everything up to a position, which may be none; the next ones come when it is done. */
export type OnMessages = (messages: readonly Outgoing[], position: bigint) => Promise<void>;

/** A log as messages. */
export interface MessageSource {
  /** Follows the log without end, as {@link EventLog.subscribe} does. */
  follow(wanted: Wanted, onMessages: OnMessages): Subscription;
}

const isWanted = ({ part, parts, maxBytes }: Wanted, { stream }: RecordedEvent): boolean =>
  maxBytes.has(categoryOf(stream)) && (parts === 1 || partOf(stream, parts) === part);

export type SourceOptions = {
  readonly log: EventLog;
  readonly format: ExportFormat;
  readonly presenting: Presenting;
};

/** Makes the messages where it is. */
export const messagesHere = ({ log, format, presenting }: SourceOptions): MessageSource => ({
  follow: (wanted, onMessages) => {
    const maxBytes = (category: string): number => wanted.maxBytes.get(category) ?? 0;
    const messageOf = messageMaker({ logId: log.logId, format, presenting, maxBytes });
    return log.subscribe({ after: wanted.after }, async ({ events, position }) => {
      const ours = events.filter((event) => isWanted(wanted, event));
      await onMessages(await messagesOf(ours, messageOf), position);
    });
  },
});
