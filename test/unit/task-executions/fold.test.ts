import { create, fromBinary } from '@bufbuild/protobuf';
import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { StoredDocument } from '../../../projections/runtime/read-store.js';
import { mergePatch } from '../../../projections/task-executions/merge-patch.js';
import { taskExecutions } from '../../../projections/task-executions/projection.js';
import { TaskExecutionSchema } from '../../../proto/gen/platformidl/admin/task_execution_pb.js';
import { CatalogCacheStatus } from '../../../proto/gen/platformidl/core/catalog_pb.js';
import {
  ExecutionError_ErrorKind as ErrorKind,
  TaskExecution_Phase as Phase,
} from '../../../proto/gen/platformidl/core/execution_pb.js';
import { LiteralMapSchema } from '../../../proto/gen/platformidl/core/literals_pb.js';
import { TaskExecutionMetadata_InstanceClass } from '../../../proto/gen/platformidl/event/event_pb.js';
import type { ExecutionCommand } from '../../../services/execution/commands.js';
import { documentsAfter } from '../../support/views/run-views.js';
import {
  creation,
  expiry,
  id,
  node,
  openStream,
  stream,
  task,
  taskId,
  termination,
  workflow,
} from '../execution/reports.js';

/** The document of the first task execution after commands to an execution with a running node. */
const documentOf = async (...commands: readonly ExecutionCommand[]): Promise<StoredDocument> => {
  const run = openStream(creation, node('RUNNING'));
  for (const command of commands) await run.refusal(command);
  const [document] = [...documentsAfter(taskExecutions, run.recorded).values()];
  return document!;
};

const answerOf = ({ response }: StoredDocument) => fromBinary(TaskExecutionSchema, response);
/** The closure of that task execution, as GetTaskExecution shows it. */
const closureAfter = async (...commands: readonly ExecutionCommand[]) =>
  answerOf(await documentOf(...commands)).closure!;

/** The milliseconds since 1970 of a second of the story. */
const second = (seconds: number): number => 1_700_000_000_000 + seconds * 1_000;
/** The microseconds since 1970 of a second of the story. */
const micros = (seconds: number): number => second(seconds) * 1_000;
const failure = {
  outputResult: { case: 'error', value: { code: 'E', message: 'bad', kind: ErrorKind.USER } },
} as const;
/** A log link whose URI has its name. */
const log = (name: string, more: object = {}) => ({ uri: `http://${name}`, name, ...more });
/** The metadata of a node that belongs to an attempt. */
const parentOf = (retryAttempt: number) => ({
  id: { taskId, nodeExecutionId: { nodeId: 'n0', executionId: id }, retryAttempt },
});
const names = (logs: readonly { readonly name: string }[]): readonly string[] => logs.map(({ name }) => name);

describe('a task execution', () => {
  it('begins with its first event', async () => {
    const document = await documentOf(task('QUEUED', { second: 2, taskType: 'python', eventVersion: 1 }));
    const { id: identifier, closure } = answerOf(document);
    expect(identifier).toMatchObject({ taskId, nodeExecutionId: { nodeId: 'n0', executionId: id }, retryAttempt: 0 });
    expect(closure).toMatchObject({ phase: Phase.QUEUED, taskType: 'python', eventVersion: 1 });
    expect(timestampMs(closure!.createdAt!)).toBe(second(2));
  });

  it('has a field for each thing that lists filter and sort by', async () => {
    const document = await documentOf(
      task('RUNNING', { second: 2, attempt: 1, version: 1, inputValue: { case: 'inputUri', value: 's3://in' } }),
      task('FAILED', { second: 9, attempt: 1, ...failure }),
    );
    expect(document.fields).toEqual({
      execution: stream,
      execution_project: id.project,
      execution_domain: id.domain,
      execution_name: id.name,
      node: `${stream}/n0`,
      node_id: 'n0',
      project: taskId.project,
      domain: taskId.domain,
      name: taskId.name,
      version: taskId.version,
      task: 'task-flytesnacks:development:greet:v1',
      retry_attempt: 1,
      recorded: 3,
      phase: 'FAILED',
      phase_version: 0,
      created_at: micros(2),
      updated_at: micros(9),
      started_at: micros(2),
      duration: 7_000_000,
      input_uri: 's3://in',
      closed_by: '',
      inputs_at: null,
      outputs_at: null,
    });
  });

  it('has started at its earliest RUNNING, and lasts until it ends', async () => {
    const { startedAt, duration } = await closureAfter(
      task('QUEUED', { second: 1 }),
      task('RUNNING', { second: 5 }),
      task('RUNNING', { second: 4, version: 1 }),
      task('SUCCEEDED', { second: 9 }),
    );
    expect([timestampMs(startedAt!), duration!.seconds]).toEqual([second(4), 5n]);
    const neverRan = await documentOf(task('QUEUED', { second: 1 }), task('FAILED', { second: 2 }));
    expect(neverRan.fields).toMatchObject({ started_at: null, duration: null });
  });

  it('has the version of its current phase, not a higher one of an earlier phase', async () => {
    const document = await documentOf(
      task('INITIALIZING', { version: 3 }),
      task('RUNNING'),
      task('RUNNING', { version: 1 }),
    );
    expect(document.fields).toMatchObject({ phase: 'RUNNING', phase_version: 1 });
  });

  it('keeps every reason in order', async () => {
    const occurredAt = timestampFromMs(second(1));
    const { reasons, reason } = await closureAfter(
      task('QUEUED', {
        reasons: [
          { reason: 'a', occurredAt },
          { reason: 'a', occurredAt },
        ],
      }),
      task('RUNNING', { reasons: [{ reason: 'b', occurredAt }] }),
    );
    expect([reasons.map(({ message }) => message), reason]).toEqual([['a', 'a', 'b'], 'b']);
    expect(reasons.map((each) => each.occurredAt)).toEqual([occurredAt, occurredAt, occurredAt]);
  });

  it('keeps more reasons than a function takes as arguments', async () => {
    const reasons = Array.from({ length: 600_000 }, () => ({ reason: 'a' }));
    expect((await closureAfter(task('RUNNING', { reasons }))).reasons).toHaveLength(reasons.length);
  });

  it('keeps the single reason of an older engine when it differs from the last one', async () => {
    const { reasons, reason } = await closureAfter(
      task('QUEUED', { reason: 'waiting' }),
      task('QUEUED', { reason: 'waiting', version: 1 }),
      task('QUEUED', { version: 2 }),
      task('RUNNING', { reason: 'pulling', second: 3 }),
    );
    expect([reasons.map(({ message }) => message), reason]).toEqual([['waiting', 'pulling'], 'pulling']);
    expect(timestampMs(reasons[1]!.occurredAt!)).toBe(second(3));
  });

  it('merges log links by URI and by name', async () => {
    const { logs } = await closureAfter(
      task('RUNNING', { logs: [log('a'), log('b'), { uri: 'http://x', name: '' }, { uri: 'http://y', name: '' }] }),
      task('RUNNING', {
        version: 1,
        logs: [
          { uri: 'http://new', name: 'a' },
          { uri: 'http://x', name: '' },
        ],
      }),
      task('RUNNING', { version: 2 }),
    );
    expect(logs.map(({ uri }) => uri)).toEqual(['http://new', 'http://x', 'http://b', 'http://y']);
  });

  it('shows the log links of its phase, and loses none', async () => {
    const logs = [log('pending', { ShowWhilePending: true }), log('live', { HideOnceFinished: true }), log('always')];
    const queued = task('QUEUED', { logs });
    const shownIn = async (...more: readonly ExecutionCommand[]) => names((await closureAfter(queued, ...more)).logs);
    expect(await shownIn()).toEqual(['pending']);
    expect(await shownIn(task('RUNNING'))).toEqual(['pending', 'live', 'always']);
    expect(await shownIn(task('RUNNING'), task('SUCCEEDED'))).toEqual(['pending', 'always']);
    const { foldState } = await documentOf(queued, task('SUCCEEDED'));
    expect(names(fromBinary(TaskExecutionSchema, foldState!).closure!.logs)).toEqual(['pending', 'live', 'always']);
  });

  it('takes the log links of a repeated phase', async () => {
    const { logs, phase } = await closureAfter(task('SUCCEEDED'), task('SUCCEEDED', { logs: [log('late')] }));
    expect([names(logs), phase]).toEqual([['late'], Phase.SUCCEEDED]);
  });

  it('merges custom information', async () => {
    const { customInfo } = await closureAfter(
      task('QUEUED', { customInfo: { a: { b: 1, c: [1, 2] }, d: 'x' } }),
      task('RUNNING', { customInfo: { a: { b: null, c: [3] }, e: true } }),
      task('SUCCEEDED'),
    );
    expect(customInfo).toEqual({ a: { c: [3] }, d: 'x', e: true });
  });

  it('merges metadata, and keeps external resources by index and attempt', async () => {
    const { metadata } = await closureAfter(
      task('RUNNING', {
        metadata: {
          generatedName: 'pod',
          instanceClass: TaskExecutionMetadata_InstanceClass.INTERRUPTIBLE,
          resourcePoolInfo: [{ namespace: 'pool', allocationToken: 'a' }],
          externalResources: [
            {
              index: 1,
              externalId: 'b',
              phase: Phase.RUNNING,
              cacheStatus: CatalogCacheStatus.CACHE_POPULATED,
              logs: [log('one')],
            },
            { index: 0, externalId: 'a', phase: Phase.RUNNING },
          ],
        },
      }),
      task('RUNNING', {
        version: 1,
        metadata: {
          pluginIdentifier: 'container',
          resourcePoolInfo: [{ namespace: 'pool', allocationToken: 'b' }],
          externalResources: [
            { index: 1, phase: Phase.FAILED, logs: [log('two')] },
            { index: 1, retryAttempt: 2, externalId: 'd', phase: Phase.QUEUED },
            { index: 1, retryAttempt: 1, externalId: 'c', phase: Phase.QUEUED },
          ],
        },
      }),
    );
    expect(metadata).toMatchObject({
      ...{ generatedName: 'pod', pluginIdentifier: 'container' },
      instanceClass: TaskExecutionMetadata_InstanceClass.INTERRUPTIBLE,
    });
    expect(metadata!.resourcePoolInfo.map(({ allocationToken }) => allocationToken)).toEqual(['a', 'b']);
    expect(metadata!.externalResources).toMatchObject([
      { index: 0, externalId: 'a' },
      {
        ...{ index: 1, retryAttempt: 0, externalId: 'b', phase: Phase.FAILED },
        cacheStatus: CatalogCacheStatus.CACHE_POPULATED,
      },
      { index: 1, retryAttempt: 1, externalId: 'c' },
      { index: 1, retryAttempt: 2, externalId: 'd' },
    ]);
    expect(names(metadata!.externalResources[1]!.logs)).toEqual(['two', 'one']);
  });

  it('shows the log links of its external resources by its own phase', async () => {
    const externalResources = [
      { index: 0, logs: [log('live', { HideOnceFinished: true }), log('always')] },
      { index: 1, logs: [log('other')] },
    ];
    const { metadata } = await closureAfter(task('RUNNING', { metadata: { externalResources } }), task('SUCCEEDED'));
    expect(metadata!.externalResources.map(({ logs }) => names(logs))).toEqual([['always'], ['other']]);
  });

  it('has no separate state for its fold while everything that is known of it is shown', async () => {
    const metadata = { externalResources: [{ index: 0, logs: [log('external')] }] };
    const document = await documentOf(task('RUNNING', { logs: [log('own')], metadata }));
    expect(answerOf(document).closure).toMatchObject({ logs: [{ name: 'own' }], metadata });
    expect(document).not.toHaveProperty('foldState');
  });

  it('shows the error of a failure that may be retried, and not in a success that follows', async () => {
    const retryable = await closureAfter(task('RETRYABLE_FAILED', failure));
    expect(retryable.outputResult).toMatchObject({ case: 'error', value: { message: 'bad' } });
    const then = await closureAfter(task('RETRYABLE_FAILED', failure), task('RUNNING'), task('SUCCEEDED'));
    expect(then.outputResult.case).toBeUndefined();
  });

  it('that is open when its execution ends is ABORTED, until the engine says otherwise', async () => {
    const ended = [task('RUNNING', { second: 1 }), workflow('ABORTED', { second: 5 })];
    const closed = await documentOf(...ended);
    expect(closed.fields).toMatchObject({ phase: 'ABORTED', closed_by: 'ABORTED' });
    const again = await documentOf(task('RUNNING', { version: 2 }), ended[1]!, task('ABORTED', { second: 4 }));
    expect(again.fields).toMatchObject({ phase: 'ABORTED', phase_version: 0, closed_by: '' });
    expect(answerOf(closed).closure!.outputResult).toMatchObject({ case: 'error', value: { code: 'ExecutionEnded' } });
    const { phase, outputResult } = await closureAfter(...ended, task('FAILED', { second: 3, ...failure }));
    expect(phase).toBe(Phase.FAILED);
    expect(outputResult).toMatchObject({ case: 'error', value: { message: 'bad' } });
  });

  it('that failed, and is open for a retry when its execution ends, keeps its error', async () => {
    const retryable = task('RETRYABLE_FAILED', { second: 1, ...failure });
    const { phase, outputResult } = await closureAfter(retryable, workflow('FAILED', { second: 5 }));
    expect(phase).toBe(Phase.ABORTED);
    expect(outputResult).toMatchObject({
      case: 'error',
      value: {
        ...failure.outputResult.value,
        message: expect.stringMatching(/^bad; inferred: the execution ended FAILED/u) as string,
      },
    });
  });

  it('that is open when its execution SUCCEEDED is ABORTED without an error', async () => {
    const document = await documentOf(task('RUNNING', { second: 1 }), workflow('SUCCEEDED', { second: 5 }));
    const { phase, outputResult } = answerOf(document).closure!;
    expect([phase, outputResult.case]).toEqual([Phase.ABORTED, undefined]);
    expect(document.fields).toMatchObject({ closed_by: 'SUCCEEDED' });
  });

  it('names the first event that carried inputs itself, and the first location of inputs', async () => {
    const inline = { inputValue: { case: 'inputData', value: create(LiteralMapSchema) } } as const;
    const at = (value: string) => ({ inputValue: { case: 'inputUri', value } }) as const;
    const document = await documentOf(
      task('QUEUED', at('s3://first')),
      task('INITIALIZING', inline),
      task('RUNNING', inline),
      task('SUCCEEDED', at('s3://second')),
    );
    expect(document.fields).toMatchObject({ inputs_at: 3 });
    expect(answerOf(document).inputUri).toBe('s3://first');
    const without = await documentOf(task('QUEUED'), task('SUCCEEDED'));
    expect(without.fields).toMatchObject({ inputs_at: null });
  });

  it('keeps its result and duration when its phase is repeated, and takes the result of a new phase', async () => {
    const report = (phase: 'RUNNING' | 'FAILED', atSecond: number, code?: string) =>
      task(phase, {
        second: atSecond,
        ...(code !== undefined && { outputResult: { case: 'error', value: { code } } }),
      });
    const codeAfter = async (...commands: readonly ExecutionCommand[]) => {
      const { outputResult: result } = await closureAfter(...commands);
      return result.case === 'error' ? result.value.code : undefined;
    };
    expect(await codeAfter(report('FAILED', 1, 'a'), report('FAILED', 2, 'b'))).toBe('a');
    expect(await codeAfter(report('FAILED', 1), report('FAILED', 2, 'b'))).toBe('b');
    expect(await codeAfter(report('RUNNING', 1, 'a'), report('FAILED', 2, 'b'))).toBe('b');
    expect(await codeAfter(report('RUNNING', 1, 'a'), report('FAILED', 2))).toBe('a');
    const { duration } = await closureAfter(report('RUNNING', 1), report('FAILED', 5), report('FAILED', 9));
    expect(duration!.seconds).toBe(4n);
  });

  it.each([
    ['RUNNING', 'nothing', 'nothing'],
    ['RETRYABLE_FAILED', 'error', 'nothing'],
    ['SUCCEEDED', 'nothing', 'outputUri'],
    ['FAILED', 'error', 'outputUri'],
    ['ABORTED', 'error', 'outputUri'],
  ] as const)('that is %s shows of a reported error %s, and of reported outputs %s', async (phase, error, outputs) => {
    const shown = async (result: object) => (await closureAfter(task(phase, result))).outputResult.case ?? 'nothing';
    expect(await shown(failure)).toBe(error);
    expect(await shown({ outputResult: { case: 'outputUri', value: 's3://o' } })).toBe(outputs);
  });

  it('shows outputs that came with the event, and lists leave them out', async () => {
    const value = create(LiteralMapSchema, { literals: { n: { hash: 'h' } } });
    const document = await documentOf(task('SUCCEEDED', { outputResult: { case: 'outputData', value } }));
    expect(answerOf(document).closure!.outputResult).toEqual({ case: 'outputData', value });
    expect(fromBinary(TaskExecutionSchema, document.listElement!).closure!.outputResult.case).toBeUndefined();
    expect(document.fields).toMatchObject({ outputs_at: 2 });
    expect(await documentOf(task('SUCCEEDED'))).not.toHaveProperty('listElement');
    expect(await documentOf(task('SUCCEEDED'))).not.toHaveProperty('foldState');
  });

  it('was updated when its last event was reported, else when it occurred, and never earlier than before', async () => {
    const reported = task('QUEUED', { second: 1, reportedAt: timestampFromMs(second(8)) });
    const updatedAt = async (...commands: readonly ExecutionCommand[]) =>
      timestampMs((await closureAfter(...commands)).updatedAt!);
    expect(await updatedAt(reported)).toBe(second(8));
    expect(await updatedAt(reported, task('RUNNING', { second: 2 }))).toBe(second(8));
    expect(await updatedAt(reported, task('RUNNING', { second: 9 }))).toBe(second(9));
  });

  it('takes from a version that comes late what newer versions do not have, and keeps what they have', async () => {
    const context = (primaryPodName: string) => ({ logContext: { primaryPodName } });
    const resource = (index: number, phase: Phase, more: object = {}) => ({ index, phase, ...more });
    const newer = {
      logs: [log('a', { uri: 'http://new' })],
      customInfo: { progress: 80, inner: { x: 2 } },
      ...context('new'),
      metadata: {
        generatedName: 'pod-2',
        externalResources: [resource(0, Phase.SUCCEEDED), resource(1, Phase.RUNNING, { externalId: 'new' })],
      },
    };
    const late = {
      logs: [log('a', { uri: 'http://old' }), log('b')],
      customInfo: { progress: 40, started: true, gone: null, inner: { x: 1, y: 1 } },
      ...context('old'),
      metadata: {
        generatedName: 'pod-1',
        pluginIdentifier: 'container',
        externalResources: [
          resource(0, Phase.RUNNING, { externalId: 'first' }),
          resource(1, Phase.QUEUED, { externalId: 'old' }),
          resource(2, Phase.QUEUED),
        ],
      },
    };
    const closure = await closureAfter(
      task('RUNNING', { version: 2, ...newer }),
      task('RUNNING', { version: 1, ...late }),
    );
    expect(closure.logs.map(({ uri }) => uri)).toEqual(['http://new', 'http://b']);
    expect(closure.customInfo).toEqual({ progress: 80, started: true, inner: { x: 2, y: 1 } });
    expect(closure.logContext?.primaryPodName).toBe('new');
    expect(closure.metadata).toMatchObject({ generatedName: 'pod-2', pluginIdentifier: 'container' });
    expect(closure.metadata!.externalResources).toMatchObject([
      { externalId: 'first', phase: Phase.SUCCEEDED },
      { externalId: 'new', phase: Phase.RUNNING },
      { externalId: '', phase: Phase.QUEUED },
    ]);
    const alone = await closureAfter(task('RUNNING', { version: 2 }), task('RUNNING', { version: 1, ...late }));
    expect([alone.logContext?.primaryPodName, alone.metadata?.generatedName]).toEqual(['old', 'pod-1']);
    expect(alone.customInfo).toEqual({ progress: 40, started: true, inner: { x: 1, y: 1 } });
  });

  it('keeps the highest version of its phase and of its events, and the newest log context', async () => {
    const logContext = (primaryPodName: string) => ({ primaryPodName });
    const document = await documentOf(
      task('RUNNING', { version: 2, eventVersion: 2, logContext: logContext('a') }),
      task('RUNNING', { version: 1, eventVersion: 1, logContext: logContext('b') }),
      task('RUNNING', { version: 3 }),
    );
    expect(document.fields).toMatchObject({ phase_version: 3 });
    const { eventVersion, logContext: shown } = answerOf(document).closure!;
    expect([eventVersion, shown?.primaryPodName]).toEqual([2, 'a']);
  });

  it('keeps of an external resource what a later event leaves out', async () => {
    const externalResource = (more: object) => ({ metadata: { externalResources: [{ index: 1, ...more }] } });
    const target = { case: 'workflowNodeMetadata', value: { executionId: { name: 'child' } } };
    const first = {
      externalId: 'a',
      targetMetadata: target,
      customInfo: { x: 1 },
      logContext: { primaryPodName: 'p' },
    };
    const { metadata } = await closureAfter(
      task('RUNNING', externalResource(first)),
      task('RUNNING', { version: 1, ...externalResource({}) }),
    );
    expect(metadata!.externalResources).toMatchObject([first]);
    const then = await closureAfter(
      task('RUNNING', externalResource({ ...first, cacheStatus: CatalogCacheStatus.CACHE_MISS })),
      task('RUNNING', {
        version: 1,
        ...externalResource({
          externalId: 'b',
          targetMetadata: { ...target, value: { executionId: { name: 'other' } } },
          customInfo: { y: 2 },
          logContext: { primaryPodName: 'q' },
          cacheStatus: CatalogCacheStatus.CACHE_HIT,
        }),
      }),
    );
    expect(then.metadata!.externalResources).toMatchObject([
      {
        externalId: 'b',
        targetMetadata: { value: { executionId: { name: 'other' } } },
        customInfo: { y: 2 },
        logContext: { primaryPodName: 'q' },
        cacheStatus: CatalogCacheStatus.CACHE_HIT,
      },
    ]);
    expect(then.metadata!.externalResources[0]!.customInfo).toEqual({ y: 2 });
  });

  it('lists a pool once, and keeps its names when a later event has none', async () => {
    const pool = { namespace: 'pool', allocationToken: 'a' };
    const instanceClass = TaskExecutionMetadata_InstanceClass.INTERRUPTIBLE;
    const named = { generatedName: 'pod', pluginIdentifier: 'container', instanceClass };
    const { metadata } = await closureAfter(
      task('RUNNING', { metadata: { ...named, resourcePoolInfo: [pool] } }),
      task('RUNNING', { version: 1, metadata: { resourcePoolInfo: [pool, { ...pool, namespace: 'other' }] } }),
    );
    expect(metadata).toMatchObject(named);
    expect(metadata!.resourcePoolInfo).toMatchObject([pool, { namespace: 'other' }]);
  });

  it('comes to the same document when it is stored and loaded again between any two events', () => {
    const inline = create(LiteralMapSchema);
    const { recorded } = openStream(
      creation,
      node('RUNNING'),
      task('RUNNING', { version: 2, inputValue: { case: 'inputData', value: inline }, logs: [log('a')] }),
      task('RUNNING', { version: 1 }),
      task('RUNNING', { attempt: 1 }),
      task('SUCCEEDED', { second: 2, outputResult: { case: 'outputData', value: inline } }),
      task('SUCCEEDED', { second: 3 }),
      workflow('FAILED', { second: 3 }),
      node('SUCCEEDED', { second: 4, node: 'child', parentTaskMetadata: parentOf(1) }),
      task('SUCCEEDED', { second: 4, attempt: 1 }),
      task('SUCCEEDED', { second: 5, attempt: 1 }),
    );
    expect(recorded).toHaveLength(11);
    for (let events = 1; events <= recorded.length; events += 1) {
      const past = recorded.slice(0, events);
      const eventsPerFold = 1; // in between, the document is stored and loaded
      expect(documentsAfter(taskExecutions, past, eventsPerFold)).toEqual(documentsAfter(taskExecutions, past));
    }
    expect(documentsAfter(taskExecutions, recorded).size).toBe(2);
  });

  it.each([
    ['the end of its execution', [workflow('FAILED')]],
    ['the expiry of a termination', [termination, expiry]],
  ])('is closed by %s, and not created by it', (_, commands) => {
    const { recorded } = openStream(creation, node('RUNNING'), task('RUNNING'), ...commands);
    expect([...documentsAfter(taskExecutions, recorded).values()]).toMatchObject([{ fields: { phase: 'ABORTED' } }]);
    expect(documentsAfter(taskExecutions, recorded.slice(3)).size).toBe(0);
  });

  it('is a parent once a node belongs to it', async () => {
    const child = node('QUEUED', { node: 'child', parentTaskMetadata: parentOf(0) });
    const document = await documentOf(task('RUNNING'), child);
    expect(answerOf(document).isParent).toBe(true);
  });

  it('is not created by a node that belongs to it', () => {
    const child = node('QUEUED', { node: 'child', parentTaskMetadata: parentOf(0) });
    const { recorded } = openStream(creation, node('RUNNING'), task('RUNNING'), child);
    expect(recorded).toHaveLength(4);
    expect(documentsAfter(taskExecutions, [...recorded.slice(0, 2), ...recorded.slice(3)]).size).toBe(0);
  });

  it('is not closed by the end of an execution in which nothing is open', () => {
    const { recorded } = openStream(
      creation,
      node('RUNNING'),
      task('SUCCEEDED'),
      node('SUCCEEDED'),
      workflow('FAILED'),
    );
    expect([...documentsAfter(taskExecutions, recorded).values()]).toMatchObject([{ fields: { phase: 'SUCCEEDED' } }]);
  });
});

describe('a merge patch', () => {
  const json = fc.dictionary(fc.constantFrom('a', 'b', '__proto__', '0'), fc.jsonValue({ maxDepth: 2 }));

  it('that is applied twice gives the same as once', () => {
    fc.assert(
      fc.property(json, json, (known, patch) => {
        const once = mergePatch(known as never, patch as never);
        expect(mergePatch(once, patch as never)).toEqual(once);
      }),
    );
  });

  it('does not change the prototype of objects', () => {
    mergePatch({}, JSON.parse('{"__proto__":{"polluted":true}}') as never);
    expect({}).not.toHaveProperty('polluted');
  });
});
