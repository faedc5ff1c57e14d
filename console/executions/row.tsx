import { Link } from '@tanstack/react-router';
import { memo, type ReactNode } from 'react';

import type { Execution } from '../../proto/gen/platformidl/admin/execution_pb.js';
import { Ago, Lasting } from '../look/moments.js';
import { PhaseBadge } from '../look/phase-badge.js';
import { executionPhase, hasEnded, toneOf } from '../look/phases.js';
import { lengthOf, msOf } from '../look/times.js';

const PERCENT = 100;

const whyOf = ({ closure }: Execution): string => {
  if (closure?.outputResult.case === 'error') return closure.outputResult.value.message;
  return closure?.outputResult.case === 'abortMetadata' ? closure.outputResult.value.cause : '';
};

const labelsOf = ({ spec }: Execution): string =>
  Object.entries(spec?.labels?.values ?? {})
    .map(([key, value]) => `${key}=${value}`)
    .join(' ');

type RowProps = {
  readonly execution: Execution;
  readonly index: number;
  /** The longest duration of the list, in milliseconds. */
  readonly longest: number;
  readonly top: number;
};

/** One execution of the list; rendered again only when something of it has changed. */
export const Row = memo(({ execution, index, longest, top }: RowProps): ReactNode => {
  const { id, spec, closure } = execution;
  const phase = executionPhase(closure?.phase);
  const ms = lengthOf(closure?.duration);
  const why = whyOf(execution);
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
        <small className={why === '' ? 'quiet' : 'row-why'}>{why || labelsOf(execution)}</small>
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
        <span className="row-bar" style={{ width: `${(Math.log1p(ms ?? 0) / Math.log1p(longest)) * PERCENT}%` }} />
      </span>
    </div>
  );
});
