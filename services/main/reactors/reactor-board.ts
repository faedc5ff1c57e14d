import type { EventLog } from '../../kernel/ports/event-store.js';
import type { WorkFigures } from '../../reactors/frame/work-queue.js';
import type { Reactors, RunningReactor } from '../../dead-letter/ports.js';
import type { Coordination } from '../coordination.js';
import { copyNotice } from '../../health/checks.js';
import { isMuted, reactorNames } from './reactor-names.js';

/** The group of the leases by which processes divide the reactors; the names of these leases begin with it. */
export const REACTORS = 'reactors';

/** The figures of the reactors of a process, by name, as other processes read them. */
export type ReactorFigures = ReadonlyMap<string, Omit<WorkFigures, 'dead'>>;

/** The text that a process attaches to its lease, for `figuresIn`. */
export const describeReactors = (figures: ReactorFigures): string => JSON.stringify(Object.fromEntries(figures));

const figuresIn = (worker: string, text: string): readonly RunningReactor[] =>
  Object.entries(JSON.parse(text) as Record<string, WorkFigures>).map(([name, { waiting, retrying, lagMs }]) => ({
    name,
    worker,
    waiting,
    retrying,
    lagMs,
  }));

/**
 * Lists the reactors of all processes, from the descriptions of their leases; without leases, those of this process.
 */
export const reactorBoard = (
  { leases, checkpoint }: Coordination,
  log: Pick<EventLog, 'logId' | 'copyOf'>,
  ownFigures: () => ReactorFigures,
): Reactors => ({
  names: reactorNames,
  muted: (name) => (isMuted(name, log) ? copyNotice(log) : undefined),
  running: async () => {
    if (!leases) return [...ownFigures()].map(([name, figures]) => ({ name, worker: 'this process', ...figures }));
    // Each process keeps a lease for its presence, whose name is this prefix and the name of the worker.
    const prefix = `${REACTORS} worker `;
    const described = await leases.descriptions(prefix);
    return [...described].flatMap(([lease, text]) => figuresIn(lease.slice(prefix.length), text));
  },
  position: (name) => checkpoint(name, log.logId).read(),
});
