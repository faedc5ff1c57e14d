import type { EventLog } from '../../kernel/ports/event-store.js';

/**
 * Every reactor, with where its work goes. `outward` work has an effect outside the log, such as a message or an
 * execution that engines run, so it is not done on a copy of a log. `inward` work changes the log alone, which a copy
 * has for itself.
 */
const REACTOR_WORK = {
  'expire-terminations': 'inward',
  'fire-schedules': 'outward',
  notify: 'outward',
  'notify-long-running': 'outward',
  'release-slots': 'inward',
  'time-out-executions': 'inward',
} as const;

export type ReactorName = keyof typeof REACTOR_WORK;

const works: ReadonlyMap<string, 'inward' | 'outward'> = new Map(Object.entries(REACTOR_WORK));

/** The names of all reactors, also of those that the settings do not start. */
export const reactorNames: readonly string[] = [...works.keys()];

/**
 * True for a reactor that must not run on this log, because it is a copy and the control plane on the original does the
 * same work: each schedule would start its execution in both, and each recipient would get two messages.
 */
export const isMuted = (reactor: string, { copyOf }: Pick<EventLog, 'copyOf'>): boolean =>
  copyOf !== undefined && works.get(reactor) === 'outward';
