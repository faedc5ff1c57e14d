import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import { freshness, lastPositionOf } from '../../../projections/query/freshness.js';
import { unprojectedEvents } from '../../../projections/runtime/unprojected-events.js';
import { settableViews } from '../../../projections/runtime/views.js';
import { taskExecutionsRoutes } from '../../../projections/task-executions/rpc.js';
import { TaskExecution_Phase as Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import { LiteralMapSchema } from '../../../proto/gen/platformidl/core/literals_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import type { RecordedEvent } from '../../../services/kernel/event.js';
import { StoreUnavailable } from '../../../services/kernel/fault.js';
import { codecs, models } from '../../../services/main/models.js';
import { openReads, type Reads } from '../../support/views/run-views.js';
import { creation, id, node, openStream, stream, task, taskId, workflow } from '../execution/reports.js';
import { withTimes } from '../past/reports.js';
import { logIn, noPayloads } from '../streams/history/recorded.js';
import { noEngineData } from '../../../services/main/engines/engine-data.js';

const { method } = AdminService;
const literals = (name: string) => create(LiteralMapSchema, { literals: { [name]: { hash: name } } });
const nodeOf = (nodeId: string) => ({ nodeId, executionId: id });
const other = { ...taskId, name: 'other' };

/** The events of a running execution with the running nodes n0 and n1, to which these reports were sent. */
const record = async (...reports: Parameters<ReturnType<typeof openStream>['refusal']>[0][]) => {
  const run = openStream(creation);
  for (const report of [workflow('RUNNING'), node('RUNNING'), node('RUNNING', { node: 'n1' }), ...reports])
    expect(await run.refusal(report)).toBeUndefined();
  return withTimes(run.recorded);
};

/**
 * Opens reads of the first `projected` events, which the views have, and of the others, which they have not. `asked`
 * has the name prefix and the collection of each list that has waited for the views.
 */
const open = async (events: readonly RecordedEvent[], projected = events.length, more: Partial<Reads> = {}) => {
  const asked: (readonly [prefix: string, collection: string])[] = [];
  const opened = await openReads(events.slice(0, projected), (reads) => {
    const log = { ...logIn(events), logId: 'log' };
    const views = settableViews((_, run) => {
      const immediate = setImmediate(run);
      return () => clearImmediate(immediate);
    });
    views.setPositions(BigInt(projected));
    const sources = { log, readStore: reads.store as never, codecs, payloads: noPayloads, models };
    const last = events.at(-1)?.position;
    const acknowledged = {
      ofStream: (name: string) => (name === stream ? last : undefined),
      ofPrefix: () => undefined,
      streamUnder: () => undefined,
    };
    const unprojected = unprojectedEvents({ ...sources, now: () => 0, limitMs: 1_000 });
    const fresh = freshness(acknowledged, views, unprojected, lastPositionOf(log));
    const waitForPrefix: typeof fresh.waitForPrefix = (call, prefix, collection) => {
      asked.push([prefix, collection.name]);
      return fresh.waitForPrefix(call, prefix, collection);
    };
    return taskExecutionsRoutes({ ...reads, freshness: { ...fresh, waitForPrefix }, ...more });
  });
  return { ...opened, asked };
};

describe('a task execution', () => {
  it('is found by its identifier, also before the views have it, and in its last state', async () => {
    const events = await record(task('QUEUED'), task('RUNNING', { attempt: 1 }), task('RUNNING'));
    for (const projected of [0, events.length - 1, events.length]) {
      const reads = await open(events, projected);
      const phaseOf = async (retryAttempt: number) =>
        (
          await reads.ask(method.getTaskExecution, {
            id: { nodeExecutionId: nodeOf('n0'), taskId, retryAttempt },
          })
        ).closure?.phase;
      expect([await phaseOf(0), await phaseOf(1)]).toEqual([Phase.RUNNING, Phase.RUNNING]);
      await reads.close();
    }
  });

  it('is the only task of its node at the attempt where no task is named', async () => {
    const events = await record(
      task('QUEUED'),
      task('RUNNING', { attempt: 1, taskId: other }),
      task('RUNNING', { node: 'n1', taskId: other }),
      task('RUNNING'),
    );
    for (const projected of [0, 4, 5, events.length]) {
      const reads = await open(events, projected);
      const nameOf = async (nodeId: string, retryAttempt: number) =>
        (await reads.ask(method.getTaskExecution, { id: { nodeExecutionId: nodeOf(nodeId), retryAttempt } })).id?.taskId
          ?.name;
      expect([await nameOf('n0', 0), await nameOf('n0', 1), await nameOf('n1', 0)]).toEqual([
        'greet',
        'other',
        'other',
      ]);
      await reads.close();
    }
  });

  it('must be named by its task where its node has no task at the attempt, or several', async () => {
    const events = await record(task('QUEUED'), task('QUEUED', { taskId: other }), task('QUEUED', { node: 'n1' }));
    for (const projected of [0, 4, 5, events.length]) {
      const reads = await open(events, projected);
      const refused = (nodeId: string, retryAttempt: number) =>
        expect(
          reads.ask(method.getTaskExecution, { id: { nodeExecutionId: nodeOf(nodeId), retryAttempt } }),
        ).rejects.toMatchObject({
          code: 'INVALID_ARGUMENT',
          message: `missing task_id: the node has not exactly one task at attempt ${retryAttempt}`,
        });
      await refused('n0', 0);
      await refused('n1', 3);
      await reads.close();
    }
  });

  it('that does not exist is named in the error by its whole identifier', async () => {
    const reads = await open(await record(task('QUEUED')));
    await expect(
      reads.ask(method.getTaskExecution, {
        id: {
          nodeExecutionId: nodeOf('n0'),
          taskId: { project: 'flytesnacks', domain: 'development', name: 'greet', version: 'v"2' },
          retryAttempt: 7,
        },
      }),
    ).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message:
        'missing entity of type task execution with identifier task_id:{resource_type:TASK project:"flytesnacks" ' +
        'domain:"development" name:"greet" version:"v\\"2"} node_execution_id:{node_id:"n0" ' +
        'execution_id:{project:"flytesnacks" domain:"development" name:"run"}} retry_attempt:7',
    });
    await reads.close();
  });

  it.each([
    [undefined, 'missing id'],
    [{ taskId }, 'missing node_execution_id'],
    [{ nodeExecutionId: { executionId: id } }, 'missing node_execution_id.node_id'],
    [{ nodeExecutionId: nodeOf('n0'), taskId: { ...taskId, domain: '' } }, 'missing domain'],
  ])('of the identifier %j is refused: %s', async (sent, message) => {
    const reads = await open(await record());
    await expect(reads.ask(method.getTaskExecution, sent ? { id: sent } : {})).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message,
    });
    await reads.close();
  });

  it('has links to the contents of which its engine sent the location, and neither contents nor logs', async () => {
    const events = await record(
      task('RUNNING', { attempt: 2, inputValue: { case: 'inputUri', value: 's3://in' } }),
      task('SUCCEEDED', { attempt: 2, outputResult: { case: 'outputUri', value: 's3://out' } }),
    );
    const reads = await open(events);
    const data = await reads.ask(method.getTaskExecutionData, {
      id: { nodeExecutionId: nodeOf('n0'), taskId, retryAttempt: 2 },
    });
    expect(data).toMatchObject({
      inputs: {},
      outputs: {},
      logs: [],
      flyteUrls: {
        inputs: 'flyte://v1/flytesnacks/development/run/n0/2/i',
        outputs: 'flyte://v1/flytesnacks/development/run/n0/2/o',
        deck: '',
      },
    });
    expect([data.fullInputs, data.fullOutputs]).toEqual([undefined, undefined]);
    await reads.close();
  });

  it('has the content that its engine sent, and its logs', async () => {
    const events = await record(
      task('RUNNING', { inputValue: { case: 'inputData', value: literals('in') } }),
      task('SUCCEEDED', {
        logs: [{ name: 'log', uri: 'http://log' }],
        outputResult: { case: 'outputData', value: literals('out') },
      }),
    );
    const reads = await open(events);
    const attempt = { nodeExecutionId: nodeOf('n0'), taskId, retryAttempt: 0 };
    expect(await reads.ask(method.getTaskExecutionData, { id: attempt })).toMatchObject({
      fullInputs: literals('in'),
      fullOutputs: literals('out'),
      logs: [{ name: 'log', uri: 'http://log' }],
    });
    await reads.close();
  });

  it('leaves out content that cannot be read, and warns the operator of it', async () => {
    const events = await record(
      task('RUNNING', { inputValue: { case: 'inputData', value: literals('in') } }),
      task('SUCCEEDED', { outputResult: { case: 'outputData', value: literals('out') } }),
    );
    const attempt = { nodeExecutionId: nodeOf('n0'), taskId, retryAttempt: 0 };
    const key = `${stream}/n0/flytesnacks/development/greet/v1/0`;
    const warnings: string[] = [];
    const dataWith = async (readStream: ReturnType<typeof logIn>['readStream']) => {
      const contents = {
        log: { ...logIn(events), readStream } as Reads['contents']['log'],
        payloads: noPayloads,
        engineData: noEngineData,
        warn: (message: string) => void warnings.push(message),
      };
      const reads = await open(events, events.length, { contents });
      const data = await reads.ask(method.getTaskExecutionData, { id: attempt });
      await reads.close();
      return [data.fullInputs, data.fullOutputs];
    };
    const away = dataWith(() => {
      throw new StoreUnavailable('away');
    });
    expect(await away).toEqual([undefined, undefined]);
    expect(warnings).toEqual([`cannot read full_inputs of ${key}`, `cannot read full_outputs of ${key}`]);
    // The stream gives another event than the one that the document names, or none: the content is left out.
    const wholeLog = logIn(events);
    expect(await dataWith((name, options) => wholeLog.readStream(name, { ...options, from: 1n }))).toEqual([
      undefined,
      undefined,
    ]);
    expect(await dataWith((name, options) => wholeLog.readStream(name, { ...options, from: 99n }))).toEqual([
      undefined,
      undefined,
    ]);
    expect(warnings).toHaveLength(2);
  });
});

describe('the task executions of a node', () => {
  it('are listed in the order in which they were created, page by page', async () => {
    const events = await record(
      task('QUEUED', { second: 3, attempt: 1 }),
      task('QUEUED', { second: 2, attempt: 0 }),
      task('QUEUED', { second: 1, node: 'n1' }),
      task('QUEUED', { second: 4, attempt: 2 }),
    );
    const reads = await open(events);
    const list = (more: { readonly limit?: number; readonly token?: string } = {}) =>
      reads.ask(method.listTaskExecutions, { nodeExecutionId: nodeOf('n0'), ...more });
    const attemptsOf = (page: Awaited<ReturnType<typeof list>>) =>
      page.taskExecutions.map((each) => [each.id?.nodeExecutionId?.nodeId, each.id?.retryAttempt]);
    const whole = await list();
    expect([attemptsOf(whole), whole.token]).toEqual([[0, 1, 2].map((attempt) => ['n0', attempt]), '']);
    const first = await list({ limit: 2 });
    const second = await list({ limit: 2, token: first.token });
    expect(first.token).not.toBe('');
    expect([...attemptsOf(first), ...attemptsOf(second)]).toEqual(attemptsOf(whole));
    expect(reads.asked).toEqual(Array(3).fill(['execution-flytesnacks:development:', 'task-executions']));
    await reads.close();
  });

  it('are none for a node that does not exist', async () => {
    const reads = await open(await record(task('QUEUED')));
    const { taskExecutions, token } = await reads.ask(method.listTaskExecutions, { nodeExecutionId: nodeOf('n9') });
    expect([taskExecutions, token]).toEqual([[], '']);
    await reads.close();
  });

  it('need the id of the node, and a token of an earlier page of this list', async () => {
    const reads = await open(await record(task('QUEUED')));
    const list = (nodeId: string, token: string) =>
      reads.ask(method.listTaskExecutions, { nodeExecutionId: nodeOf(nodeId), token });
    await expect(list('', '')).rejects.toThrow('node_execution_id');
    await expect(list('n0', 'none')).rejects.toThrow('invalid pagination token none for ListTaskExecutions');
    await expect(reads.ask(method.listTaskExecutions, {})).rejects.toThrow('missing node_execution_id');
    await reads.close();
  });
});
