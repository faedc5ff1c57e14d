import { isTerminal } from './phases.js';
import type { ExecutionState } from './state.js';

/**
 * What an attempt to create an execution with a slot of its launch plan has come to: `pending` while it may still create
 * the execution, `running` while the execution that it created has not ended, `over` otherwise.
 */
export const attemptStanding = (state: ExecutionState, attempt: string): 'pending' | 'running' | 'over' => {
  if (!state.exists) return state.voided.includes(attempt) ? 'over' : 'pending';
  // An execution that names no attempt may be anyone's: it keeps the slot until it has ended.
  const isOfAnother = state.slotAttempt !== '' && state.slotAttempt !== attempt;
  return isOfAnother || isTerminal('workflow', state.phase) ? 'over' : 'running';
};
