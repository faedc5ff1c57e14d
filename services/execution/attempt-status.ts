import { isTerminal } from './phases.js';
import type { ExecutionState } from './state.js';

/**
 * The status of an attempt to create an execution with a slot of its launch plan: `pending` while it may still create
 * the execution, `running` while the execution that it created has not ended, `over` otherwise.
 */
export const attemptStatus = (state: ExecutionState, attempt: string): 'pending' | 'running' | 'over' => {
  if (!state.exists) return state.voided.includes(attempt) ? 'over' : 'pending';
  // An execution that names no attempt may belong to any of them: it keeps the slot until it has ended.
  const isOfAnother = state.slotAttempt !== '' && state.slotAttempt !== attempt;
  return isOfAnother || isTerminal('workflow', state.phase) ? 'over' : 'running';
};
