import { randomUUID } from 'node:crypto';
import type { ExecutionAggregate } from '../../execution/aggregate.js';
import { executionStream } from '../../kernel/execution-id.js';
import { attemptStatus } from '../../execution/attempt-status.js';
import type { Sessions } from '../../kernel/ports/sessions.js';
import { launchPlanSlots, type SlotHolders, type Slots } from '../../reactors/release-slots/slots.js';

/** Reads and voids the launch attempts that hold slots, by the streams of their executions. */
export const slotHolders = (sessions: Sessions, aggregate: ExecutionAggregate): SlotHolders => ({
  statusOf: (id, attempt) =>
    sessions.read(aggregate, executionStream(id), ({ state }) => attemptStatus(state, attempt)),
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
