import { type ReactNode, useMemo } from 'react';

import type { Execution } from '../../proto/gen/platformidl/admin/execution_pb.js';
import { executionPhase, type PhaseKind, toneOf } from '../look/phases.js';
import { localText, msOf } from '../look/times.js';
import { type Bucket, bucketsOf } from './buckets.js';
import { withCondition } from './filter-text.js';
import { useBrush } from './use-brush.js';

const SLICES = 60;
const PERCENT = 100;

const TONES: readonly PhaseKind[] = ['good', 'skipped', 'stopped', 'waiting', 'running', 'bad'];

const momentsOf = (executions: readonly Execution[]): { readonly at: number; readonly kind: PhaseKind }[] =>
  executions.flatMap(({ closure }) => {
    const at = msOf(closure?.createdAt);
    return at === undefined ? [] : [{ at, kind: toneOf(executionPhase(closure?.phase)) }];
  });

const totalOf = ({ counts }: Bucket<PhaseKind>): number => Object.values(counts).reduce((sum, count) => sum + count, 0);

/** The filters with the time from one slice to another. */
const within = (filters: string, first: Bucket<PhaseKind> | undefined, last = first): string => {
  if (!first || !last) return filters;
  const [{ from }, { to }] = [first, last];
  const since = withCondition(filters, {
    operator: 'gte',
    field: 'created_at',
    values: [new Date(from).toISOString()],
  });
  return withCondition(since, { operator: 'lt', field: 'created_at', values: [new Date(to).toISOString()] });
};

type StartsProps = {
  readonly executions: readonly Execution[];
  readonly filters: string;
  readonly setFilters: (filters: string) => void;
};

/** The starts of the listed executions over time; a click on a slice, or dragging over several, shows these alone. */
export const Starts = ({ executions, filters, setFilters }: StartsProps): ReactNode => {
  const buckets = useMemo(() => bucketsOf(momentsOf(executions), SLICES), [executions]);
  const highest = Math.max(1, ...buckets.map(totalOf));
  const { brushed, handlers } = useBrush(buckets.length, ({ first, last }) =>
    setFilters(within(filters, buckets[first], buckets[last])),
  );
  const isBrushed = (index: number): boolean =>
    brushed !== undefined && brushed.first <= index && index <= brushed.last;
  return (
    <figure className="card starts" aria-label="Starts over time, by phase">
      <div className="starts-bars" {...handlers}>
        {buckets.map((bucket, index) => (
          <button
            key={bucket.from}
            type="button"
            className={isBrushed(index) ? 'brushed' : ''}
            tabIndex={-1}
            disabled={totalOf(bucket) === 0}
            title={`${totalOf(bucket)} from ${localText(bucket.from)}`}
            aria-label={`${totalOf(bucket)} started from ${localText(bucket.from)}`}
            onClick={() => setFilters(within(filters, bucket))}
          >
            {TONES.map((tone) => (
              <span
                key={tone}
                className={`tone-${tone}`}
                style={{ height: `${((bucket.counts[tone] ?? 0) / highest) * PERCENT}%` }}
              />
            ))}
          </button>
        ))}
      </div>
      <figcaption className="quiet">
        <span>{localText(buckets[0]?.from ?? 0)}</span>
        <span>{executions.length} listed</span>
        <span>{localText(buckets.at(-1)?.to ?? 0)}</span>
      </figcaption>
    </figure>
  );
};
