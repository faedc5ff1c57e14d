/** The policy for a tick that is due while the execution of the tick before it has not ended. */
export type Overlap = 'allow' | 'skip' | 'queue';

/** The decision to fire a tick now, later or not at all. */
export const overlapDecision = (
  overlap: Overlap,
  { isBehind, isRunning }: { readonly isBehind: boolean; readonly isRunning: boolean },
): 'fire' | 'wait' | 'skip' => {
  if (overlap === 'allow') return 'fire';
  // An earlier tick that is not fired yet comes first, because its execution is the one that may overlap.
  if (isBehind) return 'wait';
  if (!isRunning) return 'fire';
  return overlap === 'skip' ? 'skip' : 'wait';
};
