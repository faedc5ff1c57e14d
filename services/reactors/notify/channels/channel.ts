import type { AttemptOutcome } from '../../../notification/commands.js';
import type { Message } from '../message/message.js';
import { errorText } from '../../../kernel/error-text.js';

/** A way to send messages. */
export interface Channel {
  /** Messages go to e-mail addresses; otherwise to the channel itself. */
  readonly isMail: boolean;
  /**
   * Sends a message once. Never rejects: what went wrong is in the outcome.
   *
   * @param signal ends the attempt.
   */
  send(message: Message, signal: AbortSignal): Promise<AttemptOutcome>;
  /** Closes idle connections; attempts that run end by their signal. */
  close(): void;
}

/** The text of an error, on one line and not longer than a reason should be. */
export const reasonOf = (error: unknown): string => errorText(error).replace(/\s+/gu, ' ').trim().slice(0, 500);
