import type { Check } from '../gateway/readiness.js';
import type { EventLog } from '../kernel/ports/event-store.js';
import { isOutward } from './reactor-names.js';

/** A log, which may be a copy of another. */
type PossibleCopy = Pick<EventLog, 'copyOf'>;

/**
 * True for a reactor that must not run, because the control plane on the original log does the same work: each schedule
 * would start its execution in both, and each recipient would get two messages.
 */
export const isMuted = (reactor: string, { copyOf }: PossibleCopy): boolean =>
  copyOf !== undefined && isOutward(reactor);

/** The sentence that says what a copy of a log does not do, and how that ends; `undefined` for a log that is no copy. */
export const copyNotice = ({ copyOf }: PossibleCopy): string | undefined =>
  copyOf === undefined
    ? undefined
    : `this log is a copy of ${copyOf}: schedules do not fire and notifications are not sent until \`flightlog log take-over\``;

/** The check of a log that is a copy; it does not keep the process from being ready. */
export const copyCheck = (log: PossibleCopy): Check | undefined => {
  const why = copyNotice(log);
  return why === undefined ? undefined : { name: 'log-copy', state: 'degraded', why };
};
