import { Link } from '@tanstack/react-router';
import { memo, type ReactNode } from 'react';

import type { Execution } from '../../proto/gen/platformidl/admin/execution_pb.js';
import { Ago, Lasting } from '../look/moments.js';
import { PhaseBadge } from '../look/phase-badge.js';
import { executionPhase, hasEnded, toneOf } from '../look/phases.js';
import { useNow } from '../look/now.js';
import { lengthOf, msOf } from '../look/times.js';
import { lastingOf } from './lasting.js';

const PERCENT = 100;

const reasonOf = ({ closure }: Execution): string => {
  if (closure?.outputResult.case === 'error') return closure.outputResult.value.message;
  return closure?.outputResult.case === 'abortMetadata' ? closure.outputResult.value.cause : '';
};

const labelsOf = ({ spec }: Execution): string =>
  Object.entries(spec?.labels?.values ?? {})
    .map(([key, value]) => `${key}=${value}`)
    .join(' ');

type DurationBarProps = Pick<RowProps, 'execution' | 'longest'>;

const BarOf = ({ ms, longest }: { readonly ms: number; readonly longest: number }): ReactNode => (
  <span className="row-bar" style={{ width: `${Math.min(1, Math.log1p(ms) / Math.log1p(longest)) * PERCENT}%` }} />
);

/** The bar of an execution that has not ended, which grows each second. */
const GrowingBar = ({ execution, longest }: DurationBarProps): ReactNode => (
  <BarOf ms={lastingOf(execution, useNow())} longest={longest} />
);

const DurationBar = (props: DurationBarProps): ReactNode =>
  hasEnded(executionPhase(props.execution.closure?.phase)) ? (
    <BarOf ms={lastingOf(props.execution, 0)} longest={props.longest} />
  ) : (
    <GrowingBar {...props} />
  );

type RowProps = {
  readonly execution: Execution;
  /** The index in the list, from 0; `aria-rowindex` counts from 1, and the header is its first row. */
  readonly index: number;
  /** The longest duration of the list, in milliseconds. */
  readonly longest: number;
  /** The distance from the top of the list, in pixels. */
  readonly top: number;
};

/** One execution of the list; rendered again only when it was read again, or its place or `longest` has changed. */
export const Row = memo(({ execution, index, longest, top }: RowProps): ReactNode => {
  const { id, spec, closure } = execution;
  const phase = executionPhase(closure?.phase);
  const ms = lengthOf(closure?.duration);
  const reason = reasonOf(execution);
  return (
    <div className="row" role="row" aria-rowindex={index + 2} style={{ transform: `translateY(${top}px)` }}>
      <span role="cell">
        <PhaseBadge phase={phase} />
      </span>
      <span role="cell" className="row-name">
        <Link
          to="/projects/$project/domains/$domain/executions/$name"
          params={{ project: id?.project ?? '', domain: id?.domain ?? '', name: id?.name ?? '' }}
        >
          {id?.name}
        </Link>
        <small className={reason === '' ? 'quiet' : 'row-why'}>{reason || labelsOf(execution)}</small>
      </span>
      <span role="cell" className="row-name">
        {closure?.workflowId?.name ?? spec?.launchPlan?.name}
        <small className="quiet">{closure?.workflowId?.version}</small>
      </span>
      <span role="cell">
        <Ago at={msOf(closure?.createdAt)} />
      </span>
      <span role="cell" className={`row-lasting tone-${toneOf(phase)}`}>
        <Lasting from={hasEnded(phase) ? undefined : msOf(closure?.startedAt)} ms={hasEnded(phase) ? ms : undefined} />
        <DurationBar execution={execution} longest={longest} />
      </span>
    </div>
  );
});
