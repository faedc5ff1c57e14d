import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';

import type { Execution } from '../../proto/gen/platformidl/admin/execution_pb.js';
import { executionPhase, phaseText, toneOf } from '../look/phases.js';
import { lengthOf } from '../look/times.js';
import type { Scope } from '../server/ids.js';

const MIN_PERCENT = 12;

/** Heights on a logarithmic scale: executions last seconds or days. */
const heightOf = (ms: number, longest: number): number =>
  MIN_PERCENT + (100 - MIN_PERCENT) * (Math.log1p(ms) / Math.log1p(longest));

type PulseProps = { readonly scope: Scope; readonly executions: readonly Execution[] };

/** One bar for each execution, the newest at the right. Its height is the duration, and the least before the end. */
export const Pulse = ({ scope, executions }: PulseProps): ReactNode => {
  const longest = Math.max(1, ...executions.map(({ closure }) => lengthOf(closure?.duration) ?? 0));
  return (
    <div className="pulse" role="group" aria-label={`The newest executions of ${scope.domain}`}>
      {executions.toReversed().map(({ id, closure }) => {
        const phase = executionPhase(closure?.phase);
        return (
          <Link
            key={id?.name}
            to="/projects/$project/domains/$domain/executions/$name"
            params={{ ...scope, name: id?.name ?? '' }}
            className={`tone-${toneOf(phase)}`}
            aria-label={`${id?.name ?? ''}: ${phaseText(phase)}`}
            title={`${id?.name ?? ''}: ${phaseText(phase)}`}
            tabIndex={-1}
          >
            <span style={{ height: `${heightOf(lengthOf(closure?.duration) ?? 0, longest)}%` }} />
          </Link>
        );
      })}
    </div>
  );
};
