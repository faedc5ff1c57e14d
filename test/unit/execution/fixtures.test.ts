import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import { ExecutionCreatedSchema } from '../../../proto/gen/platformidl/eventlog/execution_pb.js';
import { NODE, phaseName, WORKFLOW } from '../../../services/execution/phases.js';
import { refusalError } from '../../../services/execution/rpc/refusals.js';
import { eventSequences } from '../../support/requests/fixtures.js';
import { creation, openStream, reportOf } from './reports.js';

const entities = { CreateWorkflowEvent: 'workflow', CreateNodeEvent: 'node', CreateTaskEvent: 'task' } as const;

describe.each(eventSequences())('the events of $name', ({ entries, final }) => {
  const commands = entries.map(({ method, bytes }) => reportOf(entities[method as keyof typeof entities], bytes));
  const begin = () => {
    const { id } = commands[0]!;
    return openStream({ ...creation, id, created: create(ExecutionCreatedSchema, { id }) });
  };

  it('get the answers of the manifest', async () => {
    const run = begin();
    const answers: string[] = [];
    for (const command of commands) {
      const refusal = await run.refusal(command);
      answers.push(refusal === undefined ? 'OK' : refusalError(refusal, { id: command.id }).code);
    }
    expect(answers).toEqual(entries.map(({ expect: answer }) => answer));
  });

  it('lead to the final phases of the manifest', async () => {
    const run = begin();
    for (const command of commands) await run.refusal(command);
    const { phase, nodes } = run.state();
    expect(phaseName('workflow', phase)).toBe(final.execution.phase);
    expect(Object.fromEntries([...nodes].map(([id, node]) => [id, phaseName('node', node.phase)]))).toEqual(
      Object.fromEntries(Object.entries(final.nodes).map(([id, node]) => [id, node.phase])),
    );
    const tasks = [...nodes].flatMap(([id, { tasks }]) =>
      tasks.map((task) => [`${id}/${task.id.name}/${task.attempt}`, phaseName('task', task.phase)]),
    );
    expect(Object.fromEntries(tasks)).toEqual(
      Object.fromEntries(Object.entries(final.tasks).map(([key, task]) => [key, task.phase])),
    );
  });

  it('all delivered again are refused, and nothing more is recorded', async () => {
    const run = begin();
    for (const command of commands) await run.refusal(command);
    const before = run.recorded.length;
    for (const command of commands) expect(await run.refusal(command)).toBeDefined();
    expect(run.recorded).toHaveLength(before);
  });

  it('record the same when each is delivered twice in a row as when each is delivered once', async () => {
    const [once, twice] = [begin(), begin()];
    for (const command of commands) {
      await once.refusal(command);
      await twice.refusal(command);
      await twice.refusal(command);
    }
    expect(twice.recorded.map(({ data }) => data)).toEqual(once.recorded.map(({ data }) => data));
  });
});

it('the phases ABORTING and RECOVERED have the numbers of the interface', () => {
  expect([WORKFLOW.ABORTING, NODE.RECOVERED]).toEqual([9, 10]);
});
