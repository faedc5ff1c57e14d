import type { EventLog } from '../../kernel/ports/event-store.js';
import type { Checkpoint } from '../../kernel/ports/checkpoint.js';
import type { MessageKey } from '../../notification/commands.js';
import type { DeadLetterRule, MeasuredReactor } from '../frame/when-due.js';
import type { WorkResult } from '../frame/work-queue.js';
import { type AttemptOptions, attempts } from './attempt.js';
import type { ContentOptions, MessageContent } from './message-content.js';
import type { Routing } from './recipients.js';

export type NotifyOptions = ContentOptions &
  Omit<AttemptOptions, 'closing'> & {
    readonly log: Pick<EventLog, 'subscribe' | 'readStream'>;
    readonly checkpoint: Checkpoint;
    readonly routing: Omit<Routing, 'isMail'>;
    /**
     * Called with every failure. A failed item is retried until it becomes a dead letter; one of a parked stream is not
     * retried.
     */
    readonly onFailure: (error: unknown) => void;
    /** The rule when failing items become dead letters; without it they are retried for ever. */
    readonly givingUp?: DeadLetterRule;
  };

/** The earliest time of those given; `undefined` where all is finished. */
const earliest = (worked: readonly WorkResult[]): WorkResult => {
  const times = worked.flatMap((each) => (each ? [each.againAtMs] : []));
  return times.length === 0 ? undefined : { againAtMs: Math.min(...times) };
};

/** The routing, the attempts and the channels of a reactor that sends messages. */
type Sending = {
  readonly routing: Routing;
  /** Makes one attempt for each message that is due. */
  readonly send: (keys: readonly MessageKey[], content: MessageContent, sinceMs: number) => Promise<WorkResult>;
  /** Makes a reactor that aborts attempts and closes the channels when it is closed. */
  readonly reactorOf: (following: MeasuredReactor) => MeasuredReactor;
};

/** Opens the routing, the attempts and the channels for a reactor that sends messages. */
export const sending = ({ routing: routes, ...options }: NotifyOptions): Sending => {
  const closing = new AbortController();
  const attempt = attempts({ ...options, closing: closing.signal });
  return {
    routing: { ...routes, isMail: (name: string) => options.channels.get(name)?.channel.isMail === true },
    send: async (keys, content, sinceMs) =>
      earliest(await Promise.all(keys.map((key) => attempt({ key, content, sinceMs })))),
    reactorOf: (following) => ({
      ended: following.ended,
      figures: () => following.figures(),
      close: async () => {
        closing.abort(new Error('the process stops'));
        await following.close();
        for (const { channel } of options.channels.values()) channel.close();
      },
    }),
  };
};
