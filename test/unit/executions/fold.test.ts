import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';

import { executions } from '../../../projections/executions/projection.js';
import type { StoredDocument } from '../../../projections/runtime/read-store.js';
import {
  ExecutionMetadata_ExecutionMode,
  ExecutionSchema,
  ExecutionState,
} from '../../../proto/gen/platformidl/admin/execution_pb.js';
import { WorkflowExecution_Phase as Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import { LiteralMapSchema } from '../../../proto/gen/platformidl/core/literals_pb.js';
import { ExecutionCreatedSchema } from '../../../proto/gen/platformidl/eventlog/execution_pb.js';
import type { ExecutionCommand } from '../../../services/execution/commands.js';
import { documentsAfter, recordedAtMs } from '../../support/run-views.js';
import { creation, expiry, id, openStream, termination, workflow } from '../execution/reports.js';

const documentOf = async (...commands: readonly ExecutionCommand[]): Promise<StoredDocument> => {
  const run = openStream(creation);
  for (const command of commands) await run.refusal(command);
  const [document] = [...documentsAfter(executions, run.recorded).values()];
  return document!;
};

const answerOf = ({ response }: StoredDocument) => fromBinary(ExecutionSchema, response);
const closureAfter = async (...commands: readonly ExecutionCommand[]) =>
  answerOf(await documentOf(...commands)).closure!;

const failure = (message: string) =>
  ({ outputResult: { case: 'error', value: { code: 'USER:Bad', message, kind: 1 } } }) as never;
const second = (seconds: number): number => 1_700_000_000_000 + seconds * 1_000;

describe('an execution', () => {
  it('is QUEUED from its creation on, at the time that it was recorded', async () => {
    const { phase, createdAt, updatedAt, startedAt, stateChangeDetails } = await closureAfter();
    expect(phase).toBe(Phase.QUEUED);
    expect(timestampMs(createdAt!)).toBe(recordedAtMs(1n));
    expect(timestampMs(updatedAt!)).toBe(recordedAtMs(1n));
    expect(startedAt).toBeUndefined();
    expect(timestampMs(stateChangeDetails!.occurredAt!)).toBe(recordedAtMs(1n));
  });

  it('shows its specification as it was recorded', () => {
    const spec: MessageInitShape<typeof ExecutionCreatedSchema>['spec'] = {
      metadata: { mode: ExecutionMetadata_ExecutionMode.SCHEDULED, principal: 'ada' },
      maxParallelism: 7,
    };
    const workflowId = { project: 'flytesnacks', domain: 'development', name: 'hello', version: 'v1' };
    const run = openStream({ ...creation, created: create(ExecutionCreatedSchema, { id, spec, workflowId }) });
    const [document] = [...documentsAfter(executions, run.recorded).values()];
    expect(answerOf(document!)).toMatchObject({ id, spec, closure: { workflowId } });
    expect(document!.fields).toMatchObject({ mode: 1, user: 'ada', state: 0, launch_entity: 'launch_plan' });
  });

  it('has started at the earliest RUNNING, whenever that is reported', async () => {
    const { startedAt, duration } = await closureAfter(
      workflow('RUNNING', { second: 5 }),
      workflow('RUNNING', { second: 3 }),
      workflow('SUCCEEDED', { second: 9 }),
    );
    expect(timestampMs(startedAt!)).toBe(second(3));
    expect(duration!.seconds).toBe(6n);
  });

  it('is never updated backwards', async () => {
    const { updatedAt } = await closureAfter(workflow('RUNNING', { second: 9 }), workflow('FAILING', { second: 4 }));
    expect(timestampMs(updatedAt!)).toBe(second(9));
  });

  it('that is terminated shows the principal and the cause, and is not counted as updated', async () => {
    const closure = await closureAfter(workflow('RUNNING', { second: 1 }), termination);
    expect(closure.phase).toBe(Phase.ABORTING);
    expect(closure.outputResult).toMatchObject({ case: 'abortMetadata', value: { cause: 'enough', principal: 'ada' } });
    expect(timestampMs(closure.updatedAt!)).toBe(second(1));
  });

  it('that ends ABORTED with an error shows the principal that terminated it, and keeps the error', async () => {
    const document = await documentOf(termination, workflow('ABORTED', failure('killed')));
    expect(answerOf(document).closure!.outputResult).toMatchObject({
      case: 'abortMetadata',
      value: { cause: 'enough', principal: 'ada' },
    });
    expect(document.fields).toMatchObject({ error_code: 'USER:Bad', error_kind: 'USER', abort_cause: 'enough' });
    expect(document.fields).toMatchObject({ error_message: 'killed' });
    const kept = fromBinary(ExecutionSchema, document.foldState!).closure!.outputResult;
    expect(kept).toMatchObject({ case: 'error', value: { message: 'killed' } });
  });

  it('that an engine aborts by itself shows the error as the cause', async () => {
    const { outputResult } = await closureAfter(workflow('ABORTED', failure('evicted')));
    expect(outputResult).toMatchObject({ case: 'abortMetadata', value: { cause: 'evicted', principal: '' } });
  });

  it('is searched by the first and the last thousand characters of its error, once it fails', async () => {
    const message = `${'a'.repeat(1_000)}between${'z'.repeat(1_000)}`;
    const failing = await documentOf(workflow('FAILING', failure(message)));
    expect(failing.fields).toMatchObject({ error_message: `${'a'.repeat(1_000)}…${'z'.repeat(1_000)}` });
    const running = await documentOf(workflow('RUNNING', failure(message)));
    expect(running.fields).toMatchObject({ error_code: 'USER:Bad', error_message: null });
    const whole = 'a'.repeat(2_000);
    expect((await documentOf(workflow('FAILED', failure(whole)))).fields).toMatchObject({ error_message: whole });
  });

  it('that fails in spite of a termination shows its error', async () => {
    const { outputResult, phase } = await closureAfter(
      workflow('FAILING', failure('bad')),
      termination,
      workflow('FAILED', { second: 2 }),
    );
    expect(phase).toBe(Phase.FAILED);
    expect(outputResult).toMatchObject({ case: 'error', value: { message: 'bad' } });
  });

  it('whose engine never answers is ABORTED by the control plane, and says so', async () => {
    const document = await documentOf(workflow('RUNNING', { second: 1 }), termination, expiry);
    const { phase, outputResult, duration } = answerOf(document).closure!;
    expect(phase).toBe(Phase.ABORTED);
    expect(outputResult).toMatchObject({ case: 'abortMetadata', value: { principal: 'ada' } });
    expect(outputResult).toHaveProperty('value.cause', expect.stringContaining('ended by the control plane'));
    expect(duration).toBeDefined();
  });

  it('is archived and tagged without being updated', async () => {
    const update = { type: 'UpdateExecution', id, state: ExecutionState.EXECUTION_ARCHIVED, principal: 'bob' } as const;
    const document = await documentOf({ ...update, tags: ['nightly'] });
    const { spec, closure } = answerOf(document);
    expect(spec).toMatchObject({ tags: ['nightly'] });
    expect(closure!.stateChangeDetails).toMatchObject({ state: 1, principal: 'bob' });
    expect(timestampMs(closure!.updatedAt!)).toBe(recordedAtMs(1n));
    expect(document.fields).toMatchObject({ state: 1 });
  });

  it('takes the cluster of the engine that queues it', async () => {
    const document = await documentOf(workflow('QUEUED', { producer: 'east' }));
    expect(answerOf(document).spec!.metadata!.systemMetadata!.executionCluster).toBe('east');
    expect(document.fields).toMatchObject({ cluster: 'east' });
  });

  it('keeps what else was recorded of its system metadata when an engine queues it', () => {
    const spec = { metadata: { systemMetadata: { namespace: 'flytesnacks-development', executionCluster: 'west' } } };
    const run = openStream(
      { ...creation, created: create(ExecutionCreatedSchema, { id, spec }) },
      workflow('QUEUED', { producer: 'east' }),
    );
    const [document] = [...documentsAfter(executions, run.recorded).values()];
    expect(answerOf(document!).spec!.metadata!.systemMetadata).toMatchObject({
      namespace: 'flytesnacks-development',
      executionCluster: 'east',
    });
  });

  it('shows a location of outputs where clients look for it', async () => {
    const { outputResult } = await closureAfter(
      workflow('SUCCEEDED', { outputResult: { case: 'outputUri', value: 's3://b/o' } }),
    );
    expect(outputResult).toMatchObject({ case: 'outputs', value: { data: { case: 'uri', value: 's3://b/o' } } });
  });

  it('shows outputs that came with the event, and lists leave them out', async () => {
    const value = create(LiteralMapSchema, { literals: { n: { hash: 'h' } } });
    const document = await documentOf(workflow('SUCCEEDED', { outputResult: { case: 'outputData', value } }));
    expect(answerOf(document).closure!.outputResult).toEqual({ case: 'outputData', value });
    expect(fromBinary(ExecutionSchema, document.listElement!).closure!.outputResult.case).toBeUndefined();
    expect(document.fields).toMatchObject({ outputs_at: 1 });
  });

  it('lists cut its error to 100 bytes of whole characters', async () => {
    const document = await documentOf(workflow('FAILED', failure(`${'x'.repeat(99)}äöü`)));
    const { outputResult } = fromBinary(ExecutionSchema, document.listElement!).closure!;
    expect(outputResult).toHaveProperty('value.message', 'x'.repeat(99));
    expect(answerOf(document).closure!.outputResult).toHaveProperty('value.message', `${'x'.repeat(99)}äöü`);
  });

  it('takes nothing from a phase that would lead backwards', async () => {
    const before = await documentOf(workflow('RUNNING', { second: 1 }), workflow('FAILING', { second: 2 }));
    const after = await documentOf(
      workflow('RUNNING', { second: 1 }),
      workflow('FAILING', { second: 2 }),
      workflow('SUCCEEDED', { second: 3 }),
    );
    expect(toBinary(ExecutionSchema, answerOf(after))).toEqual(toBinary(ExecutionSchema, answerOf(before)));
  });
});
