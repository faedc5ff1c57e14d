import fc from 'fast-check';

import type { ExecutionCommand } from '../../../services/execution/commands.js';
import type { RecordedEvent } from '../../../services/kernel/event.js';
import { recordedAtMs } from '../../support/views/run-views.js';
import { creation, node, openStream, task, termination, workflow } from '../execution/reports.js';

/** A report of a common phase, or a termination; those that the decider refuses record nothing. */
export const anyReport = fc.oneof(
  fc.constantFrom('QUEUED', 'RUNNING', 'SUCCEEDING', 'SUCCEEDED', 'FAILED').map((phase) => workflow(phase)),
  fc
    .record({ phase: fc.constantFrom('QUEUED', 'RUNNING', 'SUCCEEDED', 'FAILED'), name: fc.constantFrom('n0', 'n1') })
    .map(({ phase, name }) => node(phase as 'RUNNING', { node: name })),
  fc
    .record({
      phase: fc.constantFrom('QUEUED', 'RUNNING', 'SUCCEEDED', 'FAILED'),
      attempt: fc.integer({ max: 2, min: 0 }),
    })
    .map(({ phase, attempt }) => task(phase as 'RUNNING', { attempt })),
  fc.constant(termination),
) as fc.Arbitrary<ExecutionCommand>;

/** Gives events the metadata of a log. */
export const withTimes = (events: readonly RecordedEvent[]): readonly RecordedEvent[] =>
  events.map((event) => {
    const metadata = { recordedAtMs: recordedAtMs(event.position), actor: '', commandId: '', schema: 1 };
    return { ...event, metadata: JSON.stringify(metadata) };
  });

/** The events that an execution has recorded once it was created and these commands were sent to it. */
export const recordedBy = async (commands: readonly ExecutionCommand[]): Promise<readonly RecordedEvent[]> => {
  const run = openStream(creation);
  for (const command of commands) await run.refusal(command);
  return run.recorded;
};
