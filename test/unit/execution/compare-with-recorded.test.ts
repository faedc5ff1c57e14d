import { describe, expect, it } from 'vitest';

import type { ReportPhase } from '../../../services/execution/commands.js';
import { compareWithRecorded } from '../../../services/execution/compare-with-recorded.js';
import type { RecordedEvent } from '../../../services/kernel/event.js';
import { noPayloads } from '../streams/history/recorded.js';
import { creation, node, openStream, task, termination, workflow } from './reports.js';

const outputs = (names: readonly string[]) => ({
  outputResult: {
    case: 'outputData',
    value: { literals: Object.fromEntries(names.map((name) => [name, { hash: name }])) },
  } as const,
});

/** The events of a stream: the creation of an execution, then one event for each command. */
const recordedOf = async (...commands: readonly ReportPhase[]): Promise<readonly RecordedEvent[]> => {
  const run = openStream(creation);
  for (const command of commands) expect(await run.refusal(command)).toBeUndefined();
  return run.recorded;
};

/**
 * `asOf`: the number of events that the stream has up to the last of `past`; `isRepetition`: one of `past` is the same.
 */
const comparisonOf = async (command: ReportPhase, past: readonly RecordedEvent[]) =>
  ((await compareWithRecorded(command, past, noPayloads)) as ReportPhase).comparison;

describe('a report that is compared with recorded events', () => {
  const queued = node('QUEUED');
  const running = node('RUNNING', { second: 1 });

  it.each([
    ['workflow', (...names: string[]) => workflow('SUCCEEDED', outputs(names))],
    ['node', (...names: string[]) => node('SUCCEEDED', outputs(names))],
    ['task', (...names: string[]) => task('SUCCEEDED', outputs(names))],
  ])('is a repetition of one with the same content, its maps in any order: %s', async (entity, report) => {
    const before = entity === 'workflow' ? [workflow('RUNNING')] : [node('RUNNING')];
    const past = (await recordedOf(...before, report('a', 'b'))).slice(-1);
    const at = { asOf: 3 }; // creation, the report before, this report
    expect(await comparisonOf(report('a', 'b'), past)).toEqual({ ...at, isRepetition: true });
    expect(await comparisonOf(report('b', 'a'), past)).toEqual({ ...at, isRepetition: true });
    expect(await comparisonOf(report('a', 'c'), past)).toEqual({ ...at, isRepetition: false });
    expect(await comparisonOf(report('a'), past)).toEqual({ ...at, isRepetition: false });
    expect(await comparisonOf(report('a', 'b', 'c'), past)).toEqual({ ...at, isRepetition: false });
  });

  it('is a repetition when any of the events is equal, first or last', async () => {
    const past = await recordedOf(queued, running);
    expect(await comparisonOf(queued, past)).toEqual({ asOf: 3, isRepetition: true });
    expect(await comparisonOf(running, past)).toEqual({ asOf: 3, isRepetition: true });
    expect(await comparisonOf(node('QUEUED', { second: 2 }), past)).toEqual({ asOf: 3, isRepetition: false });
    expect(await comparisonOf(running, past.slice(0, 2))).toEqual({ asOf: 2, isRepetition: false });
    const more = node('RUNNING', { second: 1, deckUri: 's3://deck' }); // begins with the bytes of the recorded one
    expect(await comparisonOf(more, past)).toEqual({ asOf: 3, isRepetition: false });
  });

  it('is no repetition of an event that is not a report, nor when there are no events', async () => {
    const past = await recordedOf();
    expect(await comparisonOf(queued, past)).toEqual({ asOf: 1, isRepetition: false });
    expect(await comparisonOf(queued, [])).toEqual({ asOf: 0, isRepetition: false });
  });

  it('keeps its other fields, and other commands are not changed', async () => {
    expect(await compareWithRecorded(queued, [], noPayloads)).toMatchObject(queued);
    expect(await compareWithRecorded(termination, [], noPayloads)).toBe(termination);
  });
});
