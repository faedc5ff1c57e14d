import { create, fromBinary, type MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';

import type { StoredDocument } from '../../../projections/runtime/read-store.js';
import { taskExecutionKey } from '../../../projections/query/execution-identifiers.js';
import { nodeExecutions } from '../../../projections/node-executions/projection.js';
import { NodeExecutionSchema } from '../../../proto/gen/platformidl/admin/node_execution_pb.js';
import { CatalogCacheStatus } from '../../../proto/gen/platformidl/core/catalog_pb.js';
import {
  ExecutionError_ErrorKind,
  NodeExecution_Phase as Phase,
} from '../../../proto/gen/platformidl/core/execution_pb.js';
import { ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { LiteralMapSchema } from '../../../proto/gen/platformidl/core/literals_pb.js';
import type { TaskNodeMetadataSchema } from '../../../proto/gen/platformidl/event/event_pb.js';
import type { ExecutionCommand } from '../../../services/execution/commands.js';
import { documentsAfter, recordedAtMs } from '../../support/views/run-views.js';
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

/** All documents of the view after these commands, by their keys. */
const viewAfter = async (...commands: readonly ExecutionCommand[]): Promise<ReadonlyMap<string, StoredDocument>> => {
  const run = openStream(creation);
  for (const command of commands) await run.refusal(command);
  return documentsAfter(nodeExecutions, run.recorded);
};

/** The document of node n0. */
const documentOf = async (...commands: readonly ExecutionCommand[]): Promise<StoredDocument> =>
  (await viewAfter(...commands)).get(`${stream}/n0`)!;

/** The node as GetNodeExecution answers it. */
const answerOf = ({ response }: StoredDocument) => fromBinary(NodeExecutionSchema, response);
const closureAfter = async (...commands: readonly ExecutionCommand[]) =>
  answerOf(await documentOf(...commands)).closure!;

/** Milliseconds since 1970 of the event of a report that is made with `second: seconds`. */
const second = (seconds: number): number => 1_700_000_000_000 + seconds * 1_000;
/** Microseconds since 1970 of {@link second}. */
const micros = (seconds: number): number => second(seconds) * 1_000;
/** The result of a report that has an error. */
const failure = {
  outputResult: { case: 'error', value: { code: 'E', message: 'bad', kind: ExecutionError_ErrorKind.SYSTEM } },
} as const;
/** Fields of an event of a node that runs a task. */
const taskNode = (value: MessageInitShape<typeof TaskNodeMetadataSchema>) =>
  ({ targetMetadata: { case: 'taskNodeMetadata', value } }) as const;

describe('a node execution', () => {
  it('begins with its first event, whatever its phase', async () => {
    const { metadata, closure } = answerOf(
      await documentOf(node('SUCCEEDED', { second: 4, specNodeId: 'spec', retryGroup: '2' })),
    );
    expect(metadata).toMatchObject({ specNodeId: 'spec', retryGroup: '2' });
    expect(closure!.phase).toBe(Phase.SUCCEEDED);
    expect(timestampMs(closure!.createdAt!)).toBe(second(4));
    expect(closure!.startedAt).toBeUndefined();
    expect(closure!.duration).toBeUndefined();
  });

  it('has a field for each thing that lists filter and sort by', async () => {
    const document = await documentOf(
      node('RUNNING', { second: 2, inputValue: { case: 'inputUri', value: 's3://in' } }),
      node('FAILED', { second: 9, ...failure }),
    );
    expect(document.fields).toEqual({
      execution: stream,
      execution_project: id.project,
      execution_domain: id.domain,
      execution_name: id.name,
      node_id: 'n0',
      parent: '',
      parent_task: null,
      recorded: 2, // the position of the first event of the node
      phase: 'FAILED',
      created_at: micros(2),
      updated_at: micros(9),
      started_at: micros(2),
      duration: 7_000_000, // microseconds, as all times here
      error_kind: 'SYSTEM',
      error_code: 'E',
      cache_status: null,
      input_uri: 's3://in',
      closed_by: '',
      inputs_at: null,
      outputs_at: null,
      dynamic_at: null,
    });
  });

  it('has started at its earliest RUNNING, also when it was queued again in between', async () => {
    const { startedAt, duration } = await closureAfter(
      node('RUNNING', { second: 5 }),
      node('QUEUED', { second: 6 }),
      node('RUNNING', { second: 3 }),
      node('SUCCEEDED', { second: 10 }),
    );
    expect(timestampMs(startedAt!)).toBe(second(3));
    expect(duration!.seconds).toBe(7n);
  });

  it('does not start by DYNAMIC_RUNNING', async () => {
    expect((await closureAfter(node('DYNAMIC_RUNNING'))).startedAt).toBeUndefined();
  });

  it('has the time of a report as its time of update, and keeps it when a later event has an earlier time', async () => {
    const reportedAt = timestampFromMs(second(8));
    const first = await closureAfter(node('QUEUED', { second: 1, reportedAt }));
    const then = await closureAfter(node('QUEUED', { second: 1, reportedAt }), node('RUNNING', { second: 2 }));
    expect([first, then].map(({ updatedAt }) => timestampMs(updatedAt!))).toEqual([second(8), second(8)]);
  });

  it('keeps the flags that any event has set', async () => {
    const { metadata } = answerOf(
      await documentOf(
        node('QUEUED', { isParent: true, isEager: true }),
        node('RUNNING', { isArray: true }),
        node('SUCCEEDED', { isDynamic: true }),
      ),
    );
    expect(metadata).toMatchObject({ isParentNode: true, isEager: true, isArray: true, isDynamic: true });
  });

  it('keeps its deck when the last event has none, and takes one from a repeated phase', async () => {
    const { deckUri, phase } = await closureAfter(
      node('RUNNING'),
      node('RUNNING', { deckUri: 's3://deck' }),
      node('SUCCEEDED'),
    );
    expect([deckUri, phase]).toEqual(['s3://deck', Phase.SUCCEEDED]);
  });

  it('keeps the first URI of its inputs, and the revision of the event that carried inputs', async () => {
    const inputs = create(LiteralMapSchema, {});
    const document = await documentOf(
      node('QUEUED', { inputValue: { case: 'inputUri', value: 's3://first' } }),
      node('RUNNING', { inputValue: { case: 'inputUri', value: 's3://second' } }),
      node('SUCCEEDED', { inputValue: { case: 'inputData', value: inputs } }),
    );
    expect(answerOf(document).inputUri).toBe('s3://first');
    expect(document.fields).toMatchObject({ inputs_at: 3 });
  });

  it('has the revision of the first event that carried its inputs itself', async () => {
    const inline = { inputValue: { case: 'inputData', value: create(LiteralMapSchema) } } as const;
    const document = await documentOf(node('QUEUED', inline), node('RUNNING', inline), node('SUCCEEDED', inline));
    expect(document.fields).toMatchObject({ inputs_at: 1 });
  });

  it('shows a result only once it has ended', async () => {
    const running = await documentOf(node('RUNNING', failure));
    expect(answerOf(running).closure!.outputResult.case).toBeUndefined();
    const failed = await documentOf(node('RUNNING', failure), node('FAILED', { second: 1 }));
    expect(answerOf(failed).closure!.outputResult).toMatchObject({ case: 'error', value: { message: 'bad' } });
    expect(failed.fields).toMatchObject({ error_code: 'E', error_kind: 'SYSTEM' });
    const succeeded = await documentOf(node('RUNNING', failure), node('SUCCEEDED', { second: 1 }));
    expect(answerOf(succeeded).closure!.outputResult.case).toBeUndefined();
  });

  it('shows outputs that came with the event, and lists leave them out', async () => {
    const value = create(LiteralMapSchema, { literals: { n: { hash: 'h' } } });
    const document = await documentOf(node('SUCCEEDED', { outputResult: { case: 'outputData', value } }));
    expect(answerOf(document).closure!.outputResult).toEqual({ case: 'outputData', value });
    expect(fromBinary(NodeExecutionSchema, document.listElement!).closure!.outputResult.case).toBeUndefined();
  });

  it('keeps its checkpoint and its cache when a later event has neither', async () => {
    const { targetMetadata } = await closureAfter(
      node('QUEUED', taskNode({ checkpointUri: 's3://check' })),
      node('RUNNING', taskNode({ cacheStatus: CatalogCacheStatus.CACHE_HIT, catalogKey: {} })),
      node('SUCCEEDED', taskNode({})),
    );
    expect(targetMetadata).toMatchObject({
      case: 'taskNodeMetadata',
      value: { checkpointUri: 's3://check', cacheStatus: CatalogCacheStatus.CACHE_HIT, catalogKey: {} },
    });
  });

  it('keeps its child execution when a later event is one of a task', async () => {
    const { targetMetadata } = await closureAfter(
      node('RUNNING', { child: 'known' }),
      node('SUCCEEDED', taskNode({ checkpointUri: 's3://check' })),
    );
    expect(targetMetadata).toMatchObject({ case: 'workflowNodeMetadata', value: { executionId: { name: 'run' } } });
  });

  it('has the revision of the event that carried its dynamic workflow', async () => {
    const version = {
      resourceType: ResourceType.WORKFLOW,
      project: 'flytesnacks',
      domain: 'development',
      name: 'dynamic',
      version: 'v1',
    };
    const compiledWorkflow = { primary: { template: { id: version } } };
    const dynamicWorkflow = { id: version, compiledWorkflow, dynamicJobSpecUri: 's3://spec' };
    const document = await documentOf(
      node('RUNNING'),
      node('DYNAMIC_RUNNING', taskNode({ dynamicWorkflow })),
      node('SUCCEEDED', taskNode({})),
    );
    expect(answerOf(document).closure!.dynamicJobSpecUri).toBe('s3://spec');
    expect(document.fields).toMatchObject({ dynamic_at: 2 });
  });

  it('has the parent that its first event names', async () => {
    const view = await viewAfter(node('RUNNING'), node('RUNNING', { node: 'c', parentNodeMetadata: { nodeId: 'n0' } }));
    expect(view.get(`${stream}/n0`)!.fields).toMatchObject({ parent: '', execution: stream });
    expect(view.get(`${stream}/c`)!.fields).toMatchObject({ parent: `${stream}/n0`, parent_task: null });
  });

  it('has as its parent the task that made it, unless its first event names a node', async () => {
    const parentTaskMetadata = { id: { taskId, retryAttempt: 1, nodeExecutionId: { nodeId: 'n0', executionId: id } } };
    const view = await viewAfter(
      node('RUNNING'),
      task('RUNNING', { attempt: 1 }),
      node('RUNNING', { node: 'c', parentTaskMetadata }),
      node('RUNNING', { node: 'd', parentTaskMetadata, parentNodeMetadata: { nodeId: 'n0' } }),
    );
    const parentTask = taskExecutionKey(stream, { nodeId: 'n0', taskId, retryAttempt: 1 });
    expect(view.get(`${stream}/c`)!.fields).toMatchObject({ parent: parentTask, parent_task: parentTask });
    expect(view.get(`${stream}/d`)!.fields).toMatchObject({ parent: `${stream}/n0`, parent_task: parentTask });
  });

  it('keeps the result and the duration of a phase that is reported again', async () => {
    const said = (phase: 'RUNNING' | 'FAILED', at: number, code?: string) =>
      node(phase, { second: at, ...(code !== undefined && { outputResult: { case: 'error', value: { code } } }) });
    const codeAfter = async (...commands: readonly ExecutionCommand[]) =>
      (await documentOf(...commands)).fields['error_code'];
    expect(await codeAfter(said('FAILED', 1, 'a'), said('FAILED', 2, 'b'))).toBe('a');
    expect(await codeAfter(said('FAILED', 1), said('FAILED', 2, 'b'))).toBe('b');
    expect(await codeAfter(said('RUNNING', 1, 'a'), said('FAILED', 2, 'b'))).toBe('b');
    const { duration } = await closureAfter(said('RUNNING', 1), said('FAILED', 5), said('FAILED', 9));
    expect(duration!.seconds).toBe(4n);
  });

  it.each(['SUCCEEDED', 'SKIPPED', 'RECOVERED', 'FAILED', 'TIMED_OUT', 'ABORTED'] as const)(
    'that is %s shows outputs, and an error unless it is SUCCEEDED, SKIPPED or RECOVERED',
    async (phase) => {
      const shown = async (result: object) => (await closureAfter(node(phase, result))).outputResult.case;
      const isGood = ['SUCCEEDED', 'SKIPPED', 'RECOVERED'].includes(phase);
      expect(await shown({ outputResult: { case: 'outputUri', value: 's3://o' } })).toBe('outputUri');
      expect(await shown(failure)).toBe(isGood ? undefined : 'error');
    },
  );

  it('has its error cut to 100 bytes in lists', async () => {
    const failed = (length: number) =>
      documentOf(
        node('FAILED', { outputResult: { case: 'error', value: { code: 'E', message: 'x'.repeat(length) } } }),
      );
    const { listElement } = await failed(101);
    const { outputResult } = fromBinary(NodeExecutionSchema, listElement!).closure!;
    expect(outputResult).toMatchObject({ case: 'error', value: { code: 'E', message: 'x'.repeat(100) } });
    expect(await failed(100)).not.toHaveProperty('listElement');
    expect(await failed(100)).not.toHaveProperty('foldState');
  });

  it('has the cache status and key of its last event with one of them, and the status in a field', async () => {
    const { CACHE_MISS, CACHE_DISABLED } = CatalogCacheStatus;
    const key = { datasetId: { name: 'd' } };
    const told = (value: Parameters<typeof taskNode>[0]) => documentOf(node('RUNNING', taskNode(value)));
    expect((await told({ cacheStatus: CACHE_MISS })).fields).toMatchObject({ cache_status: 'CACHE_MISS' });
    expect((await told({})).fields).toMatchObject({ cache_status: 'CACHE_DISABLED' });
    const { targetMetadata } = await closureAfter(
      node('QUEUED', taskNode({ cacheStatus: CACHE_MISS })),
      node('RUNNING', taskNode({ catalogKey: key })),
    );
    expect(targetMetadata).toMatchObject({ value: { cacheStatus: CACHE_DISABLED, catalogKey: key } });
  });

  it('is the same when it is stored and loaded again after every event', () => {
    const inline = create(LiteralMapSchema);
    const version = {
      resourceType: ResourceType.WORKFLOW,
      project: 'flytesnacks',
      domain: 'development',
      name: 'dynamic',
      version: 'v1',
    };
    const dynamic = { id: version, compiledWorkflow: { primary: { template: { id: version } } } };
    const { recorded } = openStream(
      creation,
      node('QUEUED', { inputValue: { case: 'inputData', value: inline }, isParent: true }),
      node('RUNNING', { second: 1, ...taskNode({ dynamicWorkflow: dynamic }) }),
      node('RUNNING', { node: 'c', parentNodeMetadata: { nodeId: 'n0' } }),
      node('SUCCEEDED', { second: 2, outputResult: { case: 'outputData', value: inline } }),
      workflow('FAILED', { second: 3 }),
      node('SUCCEEDED', { second: 4, deckUri: 's3://deck' }),
      node('SUCCEEDED', { second: 5, node: 'c' }),
      node('SUCCEEDED', { second: 6, node: 'c' }),
    );
    const documents = documentsAfter(nodeExecutions, recorded);
    expect(documents.get(`${stream}/n0`)!.fields).toMatchObject({ inputs_at: 1, outputs_at: 4, dynamic_at: 2 });
    expect(documentsAfter(nodeExecutions, recorded, 1)).toEqual(documents);
  });
});

describe('a node that is open when its execution ends', () => {
  const end = workflow('FAILED', { second: 9 });

  it('is ABORTED with its execution, and says that this was inferred', async () => {
    const document = await documentOf(node('RUNNING', { second: 1 }), end);
    const { phase, duration, updatedAt, outputResult } = answerOf(document).closure!;
    expect([phase, duration!.seconds, timestampMs(updatedAt!)]).toEqual([Phase.ABORTED, 8n, second(9)]);
    expect(outputResult).toHaveProperty('value.message', expect.stringContaining('inferred'));
    expect(document.fields).toMatchObject({ phase: 'ABORTED', closed_by: 'FAILED', error_code: 'ExecutionEnded' });
  });

  it('keeps the error that its engine reported before, and says that its end was inferred', async () => {
    const document = await documentOf(node('FAILING', { second: 1, ...failure }), end);
    const { phase, outputResult } = answerOf(document).closure!;
    expect(phase).toBe(Phase.ABORTED);
    expect(outputResult).toMatchObject({
      case: 'error',
      value: {
        ...failure.outputResult.value,
        message: expect.stringMatching(/^bad; inferred: the execution ended FAILED/u) as string,
      },
    });
    expect(document.fields).toMatchObject({ closed_by: 'FAILED', error_code: failure.outputResult.value.code });
  });

  it('is ABORTED without an error when the execution SUCCEEDED, until its engine reports a result', async () => {
    const good = workflow('SUCCEEDED', { second: 9 });
    const document = await documentOf(node('RUNNING', { second: 1, ...failure }), good);
    const { phase, outputResult } = answerOf(document).closure!;
    expect([phase, outputResult.case]).toEqual([Phase.ABORTED, undefined]);
    expect(document.fields).toMatchObject({ closed_by: 'SUCCEEDED', error_code: null, error_kind: null });
    const said = await documentOf(node('RUNNING', { second: 1 }), good, node('FAILED', { second: 6, ...failure }));
    expect(answerOf(said).closure!.outputResult).toMatchObject({ case: 'error', value: { message: 'bad' } });
  });

  it('takes the phase and the result that its engine reports afterwards', async () => {
    const document = await documentOf(
      node('RUNNING', { second: 1 }),
      end,
      node('SUCCEEDED', { second: 6, outputResult: { case: 'outputUri', value: 's3://o' } }),
    );
    const { phase, duration, outputResult } = answerOf(document).closure!;
    expect([phase, duration!.seconds]).toEqual([Phase.SUCCEEDED, 5n]);
    expect(outputResult).toEqual({ case: 'outputUri', value: 's3://o' });
    expect(document.fields).toMatchObject({ closed_by: '', error_code: null });
  });

  it('is not changed when it had ended before', async () => {
    const document = await documentOf(node('SUCCEEDED', { second: 1 }), end);
    expect(document.fields).toMatchObject({ phase: 'SUCCEEDED', closed_by: '' });
  });

  it('is not closed again when the end of its execution is folded after its own end', () => {
    const { recorded } = openStream(creation, node('RUNNING', { second: 1 }), end, node('SUCCEEDED', { second: 6 }));
    const ended = documentsAfter(nodeExecutions, [...recorded, recorded[2]!]).get(`${stream}/n0`)!;
    expect(ended.fields).toMatchObject({ phase: 'SUCCEEDED', closed_by: '' });
  });

  it.each([
    ['a report of the end', [end]],
    ['an expiry', [termination, expiry]],
  ])('has no document by %s when its own events are missing', (_, commands) => {
    const { recorded } = openStream(creation, node('RUNNING'), ...commands);
    expect(documentsAfter(nodeExecutions, recorded.slice(2)).size).toBe(0);
  });

  it('is ABORTED also when the control plane ends the execution', async () => {
    const { phase, updatedAt } = await closureAfter(
      node('QUEUED', { second: -1e7 /* before the time of the recorded expiry */ }),
      termination,
      expiry,
    );
    expect([phase, timestampMs(updatedAt!)]).toEqual([Phase.ABORTED, recordedAtMs(4n)]);
  });
});
