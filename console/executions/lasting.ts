import type { Execution } from '../../proto/gen/platformidl/admin/execution_pb.js';
import { executionPhase, hasEnded } from '../look/phases.js';
import { lengthOf, msOf } from '../look/times.js';

/** The milliseconds that an execution took, or has taken up to `now`; 0 before it has started. */
export const lastingOf = ({ closure }: Execution, now: number): number => {
  if (hasEnded(executionPhase(closure?.phase))) return lengthOf(closure?.duration) ?? 0;
  return Math.max(0, now - (msOf(closure?.startedAt) ?? now));
};
