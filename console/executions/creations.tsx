import { type ReactNode, useId, useMemo } from 'react';

import type { Execution } from '../../proto/gen/platformidl/admin/execution_pb.js';
import { executionPhase, type Tone, toneOf } from '../look/phases.js';
import { localText, msOf } from '../look/times.js';
import { type Bucket, bucketsOf } from './buckets.js';
import { withCondition } from './filter-text.js';
import { type SliceRange, useBrush } from './use-brush.js';

const SLICES = 60;
const PERCENT = 100;

const TONES: readonly Tone[] = ['good', 'skipped', 'stopped', 'waiting', 'running', 'bad'];

const momentsOf = (executions: readonly Execution[]): { readonly at: number; readonly kind: Tone }[] =>
  executions.flatMap(({ closure }) => {
    const at = msOf(closure?.createdAt);
    return at === undefined ? [] : [{ at, kind: toneOf(executionPhase(closure?.phase)) }];
  });

const totalOf = ({ counts }: Bucket<Tone>): number => Object.values(counts).reduce((sum, count) => sum + count, 0);

/** The time of some slices, and the number of executions that were created in it. */
type Chosen = { readonly from: number; readonly to: number; readonly total: number };

const chosenOf = (buckets: readonly Bucket<Tone>[], { first, last }: SliceRange): Chosen => {
  const chosen = buckets.slice(first, last + 1);
  const total = chosen.reduce((sum, bucket) => sum + totalOf(bucket), 0);
  return { from: chosen[0]?.from ?? 0, to: chosen.at(-1)?.to ?? 0, total };
};

const chosenText = ({ from, to, total }: Chosen): string =>
  `${total} created from ${localText(from)} to ${localText(to)}`;

/** The filters with a time of creation. */
const within = (filters: string, { from, to }: Chosen): string => {
  const field = 'created_at';
  const since = withCondition(filters, { operator: 'gte', field, values: [new Date(from).toISOString()] });
  return withCondition(since, { operator: 'lt', field, values: [new Date(to).toISOString()] });
};

const HELP = 'Arrow keys choose a time, with Shift a longer one; Enter lists its executions, Escape chooses none.';

type CreationsProps = {
  readonly executions: readonly Execution[];
  readonly filters: string;
  readonly setFilters: (filters: string) => void;
};

/**
 * A chart of the times at which the listed executions were created. Choosing slices of it filters the list by their
 * time.
 */
export const Creations = ({ executions, filters, setFilters }: CreationsProps): ReactNode => {
  const buckets = useMemo(() => bucketsOf(momentsOf(executions), SLICES), [executions]);
  const highest = Math.max(1, ...buckets.map(totalOf));
  const helpId = useId();
  const { brushed, at, handlers } = useBrush(buckets.length, (range) => {
    const chosen = chosenOf(buckets, range);
    if (chosen.total > 0) setFilters(within(filters, chosen));
  });
  const text = brushed && chosenText(chosenOf(buckets, brushed));
  const isBrushed = (index: number): boolean =>
    brushed !== undefined && brushed.first <= index && index <= brushed.last;
  return (
    <figure className="card creations" aria-label="Executions created over time, by phase">
      <div
        className="creations-bars"
        role="slider"
        tabIndex={0}
        aria-label="Time of creation"
        aria-describedby={helpId}
        aria-valuemin={1}
        aria-valuemax={buckets.length}
        aria-valuenow={(at ?? 0) + 1}
        aria-valuetext={text ?? 'no time is chosen'}
        {...handlers}
      >
        {buckets.map((bucket, index) => (
          <span
            key={bucket.from}
            className={`slice ${isBrushed(index) ? 'brushed' : ''} ${totalOf(bucket) > 0 ? 'filled' : ''}`}
            title={totalOf(bucket) > 0 ? `${totalOf(bucket)} from ${localText(bucket.from)}` : undefined}
          >
            {TONES.map((tone) => (
              <span
                key={tone}
                className={`tone-${tone}`}
                style={{ height: `${((bucket.counts[tone] ?? 0) / highest) * PERCENT}%` }}
              />
            ))}
          </span>
        ))}
      </div>
      <p id={helpId} className="visually-hidden">
        {HELP}
      </p>
      <figcaption className="quiet">
        <span>{localText(buckets[0]?.from ?? 0)}</span>
        <span>{text ?? `${executions.length} listed`}</span>
        <span>{localText(buckets.at(-1)?.to ?? 0)}</span>
      </figcaption>
    </figure>
  );
};
