import { describe, expect, it } from 'vitest';

import { isTerminal, NODE, TASK } from '../../../services/execution/phases.js';
import { creation, id, node, openStream, task, taskId, workflow } from './reports.js';

const nodePhases = Object.keys(NODE).filter((name) => Number.isNaN(Number(name))) as (keyof typeof NODE)[];
const taskPhases = Object.keys(TASK).filter((name) => Number.isNaN(Number(name))) as (keyof typeof TASK)[];

describe('a node event', () => {
  for (const from of nodePhases) {
    for (const to of nodePhases) {
      const answer = from === to ? 'phase-recorded' : isTerminal('node', NODE[from]) ? 'already-terminal' : 'OK';
      it(`${to} after ${from} is ${answer}`, async () => {
        const run = openStream(creation, node(from));
        expect(await run.answer(node(to, { second: 60 }))).toBe(answer);
        expect(run.state().nodes.get('n0')?.phase).toBe(NODE[answer === 'OK' ? to : from]);
      });
    }
  }

  it('of an unknown execution is refused', async () => {
    expect(await openStream().answer(node('QUEUED'))).toBe('execution-not-found');
  });

  it('creates a node in any phase', async () => {
    for (const phase of nodePhases) {
      const run = openStream(creation);
      expect(await run.answer(node(phase))).toBe('OK');
      expect(run.state().nodes.get('n0')?.phase).toBe(NODE[phase]);
    }
  });

  it('is refused with the stored phase when the node has ended', async () => {
    const refusal = await openStream(creation, node('FAILED')).refusal(node('RUNNING', { second: 1 }));
    expect(refusal).toEqual({ kind: 'already-terminal', entity: 'node', current: NODE.FAILED, to: NODE.RUNNING });
  });

  it('is refused before its parent node is reported', async () => {
    const child = node('QUEUED', { node: 'n0-0-dn0', parentNodeMetadata: { nodeId: 'n0' } as never });
    expect(await openStream(creation).refusal(child)).toEqual({ kind: 'node-not-found', nodeId: 'n0' });
    expect(await openStream(creation, node('RUNNING')).answer(child)).toBe('OK');
  });

  it('is refused before the task that generated the node is reported', async () => {
    const parent = { taskId, retryAttempt: 0, nodeExecutionId: { nodeId: 'n0', executionId: id } };
    const child = node('QUEUED', { node: 'n1', parentTaskMetadata: { id: parent } as never });
    expect(await openStream(creation, node('RUNNING')).answer(child)).toBe('task-not-found');
    expect(await openStream(creation, node('RUNNING'), task('RUNNING')).answer(child)).toBe('OK');
  });

  it.each(['project', 'domain', 'name'])('has no parent task in an execution of another %s', async (field) => {
    const executionId = { ...id, [field]: 'other' };
    const parent = { taskId, retryAttempt: 0, nodeExecutionId: { nodeId: 'n0', executionId } };
    const child = node('QUEUED', { node: 'n1', parentTaskMetadata: { id: parent } as never });
    expect(await openStream(creation, node('RUNNING'), task('RUNNING')).answer(child)).toBe('task-not-found');
  });

  it('is refused when it names an unknown child execution', async () => {
    const run = openStream(creation, node('QUEUED'));
    expect(await run.answer(node('RUNNING', { second: 1, child: 'unknown' }))).toBe('child-not-found');
    expect(await run.answer(node('RUNNING', { second: 1, child: 'known' }))).toBe('OK');
    expect(await openStream(creation).answer(node('RUNNING', { child: 'unknown' }))).toBe('child-not-found');
  });

  it('that repeats its phase is refused and not recorded when it names an unknown child execution', async () => {
    const run = openStream(creation, node('RUNNING'));
    expect(await run.answer(node('RUNNING', { child: 'unknown' }))).toBe('child-not-found');
    expect(run.recorded).toHaveLength(2);
    expect(await run.answer(node('RUNNING', { child: 'known' }))).toBe('phase-recorded');
    expect(await run.answer(node('RUNNING', { child: 'unknown' }))).toBe('phase-recorded');
    expect(run.recorded).toHaveLength(3);
  });

  it('of another cluster is refused', async () => {
    const run = openStream(creation, workflow('QUEUED', { producer: 'east' }));
    expect(await run.answer(node('QUEUED', { producer: 'west' }))).toBe('incompatible-cluster');
    expect(await run.answer(node('QUEUED', { producer: 'east' }))).toBe('OK');
  });

  it('that repeats its phase with new content is refused, but recorded once', async () => {
    const run = openStream(creation, node('RUNNING'));
    expect(await run.answer(node('RUNNING', { deckUri: 's3://deck' }))).toBe('phase-recorded');
    expect(run.events().at(-1)).toMatchObject({ type: 'NodePhaseReported', data: { samePhase: true } });
    expect(await run.answer(node('RUNNING', { deckUri: 's3://deck' }))).toBe('phase-recorded');
    expect(run.recorded).toHaveLength(3);
  });

  it('delivered again is recorded once, whatever was reported since', async () => {
    const run = openStream(creation, node('QUEUED'), node('RUNNING', { second: 1 }));
    expect(await run.answer(node('QUEUED', { second: 2 }))).toBe('OK');
    for (const again of [node('QUEUED'), node('RUNNING', { second: 1 }), node('QUEUED', { second: 2 })])
      expect(await run.answer(again)).toBe('phase-recorded');
    expect(run.recorded).toHaveLength(4);
    expect(await run.answer(node('RUNNING', { second: 3 }))).toBe('OK');
    expect(await run.answer(node('RUNNING', { second: 1 }))).toBe('phase-recorded');
    expect(run.recorded).toHaveLength(5);
  });
});

describe('an event that has the phase and time of others', () => {
  it('is distinguished by its content, and recorded once', async () => {
    const run = openStream(creation, node('RUNNING', { deckUri: 's3://one' }));
    const others = ['s3://two', 's3://three'].map((deckUri) => node('RUNNING', { deckUri }));
    for (const other of others) expect(await run.answer(other)).toBe('phase-recorded');
    expect(run.recorded).toHaveLength(4);
    for (const other of others) expect(await run.answer(other)).toBe('phase-recorded');
    expect(run.recorded).toHaveLength(4);
    expect(run.comparedRevisions.at(-1)).toEqual([1n, 2n, 3n]);
  });
});

describe('a task event', () => {
  for (const from of taskPhases) {
    for (const to of taskPhases) {
      const answer = from === to ? 'phase-recorded' : isTerminal('task', TASK[from]) ? 'already-terminal' : 'OK';
      it(`${to} after ${from} is ${answer}`, async () => {
        const run = openStream(creation, node('RUNNING'), task(from));
        expect(await run.answer(task(to, { second: 60 }))).toBe(answer);
        expect(run.state().nodes.get('n0')?.tasks[0]?.phase).toBe(TASK[answer === 'OK' ? to : from]);
      });
    }
  }

  it('of an unknown execution, or of an unknown node, is refused', async () => {
    expect(await openStream().answer(task('QUEUED'))).toBe('execution-not-found');
    expect(await openStream(creation).answer(task('QUEUED'))).toBe('node-not-found');
  });

  it('with a higher version of its phase is recorded', async () => {
    const run = openStream(creation, node('RUNNING'), task('RUNNING'));
    expect(await run.answer(task('RUNNING', { version: 1, second: 1 }))).toBe('OK');
    expect(await run.answer(task('RUNNING', { version: 1, second: 2 }))).toBe('phase-recorded');
    expect(await run.answer(task('RUNNING', { version: 0, second: 3 }))).toBe('phase-recorded');
    expect(await run.answer(task('RUNNING', { version: 1, second: 5 }))).toBe('phase-recorded');
    expect(await run.answer(task('RUNNING', { version: 2, second: 4 }))).toBe('OK');
  });

  it('is compared with the version of the current phase, which each change of phase begins anew', async () => {
    const run = openStream(creation, node('RUNNING'), task('QUEUED', { version: 3 }), task('RUNNING', { second: 1 }));
    expect(await run.answer(task('RUNNING', { version: 1, second: 2 }))).toBe('OK');
    expect(await run.answer(task('QUEUED', { version: 0, second: 3 }))).toBe('OK');
    expect(await run.answer(task('QUEUED', { version: 1, second: 4 }))).toBe('OK');
    expect(await run.answer(task('QUEUED', { version: 3 }))).toBe('phase-recorded');
  });

  it('after the end of the task is refused whatever its version', async () => {
    const run = openStream(creation, node('RUNNING'), task('SUCCEEDED'));
    expect(await run.answer(task('RUNNING', { version: 7, second: 1 }))).toBe('already-terminal');
    expect(await run.refusal(task('SUCCEEDED', { version: 1, second: 1 }))).toEqual({
      kind: 'already-terminal',
      entity: 'task',
      current: TASK.SUCCEEDED,
      to: TASK.SUCCEEDED,
    });
  });

  it('of another attempt is about another task execution', async () => {
    const run = openStream(creation, node('RUNNING'), task('FAILED'));
    expect(await run.answer(task('RUNNING', { attempt: 1, second: 1 }))).toBe('OK');
    expect(
      run
        .state()
        .nodes.get('n0')
        ?.tasks.map(({ attempt, phase }) => [attempt, phase]),
    ).toEqual([
      [0, TASK.FAILED],
      [1, TASK.RUNNING],
    ]);
  });

  it.each(['project', 'domain', 'name', 'version'])('is of another task when its %s is another', async (field) => {
    const run = openStream(creation, node('RUNNING'), task('RUNNING'));
    expect(await run.answer(task('RUNNING', { taskId: { ...taskId, [field]: 'other' } }))).toBe('OK');
    expect(run.state().nodes.get('n0')?.tasks).toHaveLength(2);
  });

  it('is of the task that it names, whatever characters the names have', async () => {
    const named = (name: string, version: string) => task('RUNNING', { taskId: { ...taskId, name, version } });
    const run = openStream(creation, node('RUNNING'));
    expect(await run.answer(named('a\nb', 'c'))).toBe('OK');
    expect(await run.answer(named('a', 'b\nc'))).toBe('OK');
    expect(await run.answer(named('a', 'b\nc'))).toBe('phase-recorded');
    expect(run.recorded).toHaveLength(4);
  });

  it('of another cluster is refused', async () => {
    const run = openStream(creation, workflow('QUEUED', { producer: 'east' }), node('RUNNING'));
    expect(await run.answer(task('QUEUED', { producer: 'west' }))).toBe('incompatible-cluster');
  });

  it('is recognized as recorded when its maps come in another order', async () => {
    const inputs = (...names: string[]) => ({
      inputValue: {
        case: 'inputData',
        value: {
          literals: Object.fromEntries(names.map((name) => [name, { hash: name, value: { case: undefined } }])),
        },
      },
    });
    const run = openStream(creation, node('RUNNING'), task('RUNNING', inputs('a', 'b') as never));
    expect(await run.answer(task('RUNNING', inputs('b', 'a') as never))).toBe('phase-recorded');
    expect(run.recorded).toHaveLength(3);
    expect(await run.answer(task('RUNNING', inputs('b', 'c') as never))).toBe('phase-recorded');
    expect(run.recorded).toHaveLength(4);
  });
});

describe('a node or attempt whose first report comes after the end of its execution', () => {
  it('is refused in a phase that is not terminal, and nothing is recorded', async () => {
    const run = openStream(creation, node('RUNNING'), workflow('FAILED'));
    const refusal = { kind: 'already-terminal', current: NODE.ABORTED, to: NODE.RUNNING };
    expect(await run.refusal(node('RUNNING', { node: 'late' }))).toEqual({ ...refusal, entity: 'node' });
    const ofTask = { ...refusal, entity: 'task', current: TASK.ABORTED, to: TASK.RUNNING };
    expect(await run.refusal(task('RUNNING'))).toEqual(ofTask);
    expect(run.recorded).toHaveLength(3);
  });

  it('is recorded in a terminal phase', async () => {
    const run = openStream(creation, node('RUNNING'), workflow('FAILED'));
    expect(await run.answer(node('SUCCEEDED', { node: 'late' }))).toBe('OK');
    expect(await run.answer(task('FAILED'))).toBe('OK');
  });
});

describe('the state of an execution', () => {
  it('has the task id of 10,000 nodes once, and infers the end of all nodes and attempts', async () => {
    const run = openStream(creation, workflow('RUNNING'));
    const [aNode, aTask] = [node('RUNNING'), task('RUNNING')];
    for (let at = 0; at < 10_000; at += 1) {
      const nodeId = `n${at}`;
      await run.refusal({ ...aNode, envelope: { ...aNode.envelope, nodeId } });
      await run.refusal({ ...aTask, envelope: { ...aTask.envelope, nodeId } });
    }
    expect(run.state().nodes.size).toBe(10_000);
    expect(run.state().taskIds.size).toBe(1);
    await run.refusal(workflow('ABORTED', { second: 9 }));
    expect(
      [...run.state().nodes.values()].every(({ phase, tasks }) => phase === NODE.ABORTED && tasks[0]!.isInferred),
    ).toBe(true);
    expect(run.recorded).toHaveLength(20_003);
  });
});
