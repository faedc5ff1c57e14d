import { randomUUID } from 'node:crypto';
import { type ExecutionAggregate, executionStream } from '../execution/aggregate.js';
import { isTerminal } from '../execution/phases.js';
import type { ExecutionState } from '../execution/state.js';
import type { Sessions } from '../kernel/sessions.js';
import { launchPlanSlots, type SlotHolders, type Slots } from '../reactors/release-slots/take.js';

const standingOf = ({ exists, phase }: ExecutionState): 'absent' | 'open' | 'ended' => {
  if (!exists) return 'absent';
  return isTerminal('workflow', phase) ? 'ended' : 'open';
};

/** What slots ask of executions, answered from their own streams. */
export const slotHolders = (sessions: Sessions, aggregate: ExecutionAggregate): SlotHolders => ({
  standing: (id) => sessions.read(aggregate, executionStream(id), ({ state }) => standingOf(state)),
  fence: (id, attempt) =>
    sessions.handle(
      aggregate,
      executionStream(id),
      { type: 'VoidExecution', id, attempt },
      { actor: 'launch-plan-slots', commandId: randomUUID() },
    ),
});

/** The slots of launch plans, over the sessions of this process. */
export const slotsOf = (sessions: Sessions, aggregate: ExecutionAggregate): Slots =>
  launchPlanSlots({ sessions, holders: slotHolders(sessions, aggregate), now: Date.now });
