import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { ExecutionCommand } from '../../../services/execution/commands.js';
import { isTerminal, NODE, TASK, WORKFLOW } from '../../../services/execution/phases.js';
import type { ExecutionState } from '../../../services/execution/state.js';
import { creation, expiry, id, node, openStream, task, termination, workflow } from './reports.js';

/** Any phase of an entity except UNDEFINED. */
const phaseNames = <Phases extends object>(phases: Phases) =>
  fc.constantFrom(
    ...(Object.keys(phases).filter((name) => Number.isNaN(Number(name)) && name !== 'UNDEFINED') as (keyof Phases)[]),
  );

const second = fc.nat(5);
/** The empty name twice: two in five reports of the workflow have no producer. */
const producer = fc.constantFrom('', '', 'propeller', 'east', 'west');
const nodeName = fc.constantFrom('n0', 'n1');

const command: fc.Arbitrary<ExecutionCommand> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .tuple(phaseNames(WORKFLOW), second, producer)
      .map(([phase, second, producer]) => workflow(phase as never, { second, producer })),
  },
  {
    weight: 6,
    arbitrary: fc
      .tuple(phaseNames(NODE), second, nodeName)
      .map(([phase, second, each]) => node(phase as never, { second, node: each })),
  },
  {
    weight: 8,
    arbitrary: fc
      .tuple(phaseNames(TASK), second, nodeName, fc.nat(2), fc.nat(1))
      .map(([phase, second, each, version, attempt]) => task(phase as never, { second, node: each, version, attempt })),
  },
  { weight: 1, arbitrary: fc.constantFrom<ExecutionCommand>(creation, termination, expiry) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom(0, 1), fc.option(fc.array(fc.constantFrom('a', 'b')), { nil: undefined }))
      .map(([state, tags]) => ({ type: 'UpdateExecution', id, state, tags, principal: 'ada' }) as const),
  },
);

/** Up to 40 commands, uniform in number, because most orders of events occur only in long sequences. */
const manyCommands = fc.array(command, { maxLength: 40, size: 'max' });

/**
 * The execution if it has ended, and the nodes and attempts that have ended by a report, with their phases. Others have
 * ended with the execution, and a late report can still give such a node or attempt another phase.
 */
const ended = ({ phase, nodes }: ExecutionState): Map<string, number> => {
  const found = new Map<string, number>();
  if (isTerminal('workflow', phase)) found.set('execution', phase);
  for (const [name, { phase, isInferred, tasks }] of nodes) {
    if (isTerminal('node', phase) && !isInferred) found.set(name, phase);
    for (const { attempt, phase, isInferred } of tasks)
      if (isTerminal('task', phase) && !isInferred) found.set(`${name}/${attempt}`, phase);
  }
  return found;
};

describe('an execution, whatever happens to it,', () => {
  it('records nothing more when the same command comes a second time in a row', async () => {
    let repeated = 0;
    await fc.assert(
      fc.asyncProperty(manyCommands, async (commands) => {
        const run = openStream(creation);
        for (const each of commands) {
          const earlier = run.recorded.length;
          await run.refusal(each);
          const before = run.recorded.length;
          await run.refusal(each);
          expect(run.recorded).toHaveLength(before);
          repeated += before > earlier ? 1 : 0;
        }
      }),
      { numRuns: 150 },
    );
    expect(repeated).toBeGreaterThan(500);
  });

  it('keeps each terminal phase, also of its nodes and attempts, unless the phase was inferred from the end of the execution', async () => {
    let compared = 0;
    await fc.assert(
      fc.asyncProperty(manyCommands, async (commands) => {
        const run = openStream(creation);
        for (const each of commands) {
          const before = ended(run.state());
          await run.refusal(each);
          const after = ended(run.state());
          for (const [name, phase] of before) expect(after.get(name)).toBe(phase);
          compared += before.size;
        }
      }),
      { numRuns: 150 },
    );
    expect(compared).toBeGreaterThan(500);
  });

  it('records no report twice, in whatever order reports are delivered again', async () => {
    let recorded = 0;
    await fc.assert(
      fc.asyncProperty(manyCommands, fc.infiniteStream(fc.nat()), async (commands, chance) => {
        const run = openStream(creation);
        for (const each of commands) {
          await run.refusal(each);
          const again = commands[(chance.next().value ?? 0) % commands.length];
          if (again !== undefined) await run.refusal(again);
        }
        const messages = run
          .events()
          .flatMap(({ type, data }) => ('messageHash' in data ? [`${type}${data.messageHash}`] : []));
        expect(new Set(messages).size).toBe(messages.length);
        recorded += messages.length;
      }),
      { numRuns: 150 },
    );
    expect(recorded).toBeGreaterThan(500);
  });

  it('has no open node and no open attempt of a task at the moment of its end', async () => {
    let ends = 0;
    await fc.assert(
      fc.asyncProperty(manyCommands, async (commands) => {
        const run = openStream(creation);
        for (const each of commands) {
          const wasOpen = !isTerminal('workflow', run.state().phase);
          await run.refusal(each);
          const { phase, nodes } = run.state();
          if (!wasOpen || !isTerminal('workflow', phase)) continue;
          for (const { phase, tasks } of nodes.values()) {
            expect(isTerminal('node', phase)).toBe(true);
            expect(tasks.every((each) => isTerminal('task', each.phase))).toBe(true);
          }
          ends += nodes.size > 0 ? 1 : 0;
        }
      }),
      { numRuns: 150 },
    );
    expect(ends).toBeGreaterThan(25);
  });
});
