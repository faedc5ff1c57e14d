import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';

import { executions } from '../../../projections/executions/projection.js';
import type { StoredDocument } from '../../../projections/runtime/read-store.js';
import {
  ExecutionMetadata_ExecutionMode,
  ExecutionSchema,
  ExecutionSpecSchema,
  ExecutionState,
} from '../../../proto/gen/platformidl/admin/execution_pb.js';
import {
  ExecutionError_ErrorKind,
  QualityOfService_Tier,
  WorkflowExecution_Phase as Phase,
} from '../../../proto/gen/platformidl/core/execution_pb.js';
import { LiteralMapSchema } from '../../../proto/gen/platformidl/core/literals_pb.js';
import { ExecutionCreatedSchema } from '../../../proto/gen/platformidl/eventlog/execution_pb.js';
import type { ExecutionCommand } from '../../../services/execution/commands.js';
import { documentsAfter, recordedAtMs } from '../../support/views/run-views.js';
import { creation, expiry, id, openStream, termination, workflow } from '../execution/reports.js';

/** The document of the execution after its creation and these commands. */
const documentOf = async (...commands: readonly ExecutionCommand[]): Promise<StoredDocument> => {
  const run = openStream(creation);
  for (const command of commands) await run.refusal(command);
  const [document] = [...documentsAfter(executions, run.recorded).values()];
  return document!;
};

/** The execution as GetExecution answers it. */
const answerOf = ({ response }: StoredDocument) => fromBinary(ExecutionSchema, response);
const closureAfter = async (...commands: readonly ExecutionCommand[]) =>
  answerOf(await documentOf(...commands)).closure!;

const failure = (message: string) =>
  ({
    outputResult: { case: 'error', value: { code: 'USER:Bad', message, kind: ExecutionError_ErrorKind.USER } },
  }) as never;
/** Milliseconds since 1970 of the event of a report that is made with `second: seconds`. */
const second = (seconds: number): number => 1_700_000_000_000 + seconds * 1_000;
/** Microseconds since 1970 of {@link second}. */
const micros = (seconds: number): number => second(seconds) * 1_000;

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
    expect(document!.fields).toMatchObject({
      mode: ExecutionMetadata_ExecutionMode.SCHEDULED,
      user: 'ada',
      state: ExecutionState.EXECUTION_ACTIVE,
      launch_entity: 'launch_plan',
    });
    expect(answerOf(document!).closure!.stateChangeDetails!.principal).toBe('ada');
  });

  it.each([1, Infinity])(
    'shows the inputs of its specification except in lists, stored every %s events',
    async (size) => {
      const literal = { value: { case: 'scalar', value: { value: { case: 'noneType', value: {} } } } } as const;
      const inputs = create(LiteralMapSchema, { literals: { name: literal } });
      const spec = { maxParallelism: 7, inputs };
      const run = openStream(
        { ...creation, created: create(ExecutionCreatedSchema, { id, spec }) },
        workflow('RUNNING', { second: 3 }),
      );
      await run.refusal(termination);
      const [document] = [...documentsAfter(executions, run.recorded, size).values()];
      expect(answerOf(document!)).toMatchObject({ id, spec, closure: { phase: Phase.ABORTING } });
      const element = fromBinary(ExecutionSchema, document!.listElement!);
      expect(element).toMatchObject({ id, spec: { maxParallelism: 7 }, closure: { phase: Phase.ABORTING } });
      expect(element.spec).not.toHaveProperty('inputs');
      const { execution, specInputs } = executions.decode(document!);
      expect(execution.spec).not.toHaveProperty('inputs');
      expect(fromBinary(ExecutionSchema, specInputs!).spec).toEqual(create(ExecutionSpecSchema, { inputs }));
    },
  );

  it('has a field for each thing that lists filter and sort by', () => {
    const spec = {
      metadata: {
        mode: ExecutionMetadata_ExecutionMode.SCHEDULED,
        principal: 'ada',
        referenceExecution: { ...id, name: 'before' },
        parentNodeExecution: { nodeId: 'n3', executionId: { ...id, name: 'parent' } },
      },
      labels: { values: { team: 'b', area: 'a', zone: 'c' } },
      tags: ['nightly'],
    };
    const named = (name: string) => ({ project: 'flytesnacks', domain: 'staging', name, version: 'v1' });
    const engine = { tier: QualityOfService_Tier.HIGH, queueingBudget: { seconds: 7n } };
    const definitions = { launchPlanId: named('nightly'), workflowId: named('train') };
    const run = openStream(
      { ...creation, created: create(ExecutionCreatedSchema, { id, spec, engine, ...definitions }) },
      workflow('QUEUED', { producer: 'east' }),
      workflow('RUNNING', { second: 3 }),
      workflow('FAILED', { second: 9, ...(failure('bad') as object) }),
    );
    const [document] = [...documentsAfter(executions, run.recorded).values()];
    expect(document!.fields).toEqual({
      ...id,
      mode: ExecutionMetadata_ExecutionMode.SCHEDULED,
      user: 'ada',
      cluster: 'east',
      recorded: 1, // the position of the creation
      phase: 'FAILED',
      state: ExecutionState.EXECUTION_ACTIVE,
      created_at: recordedAtMs(1n) * 1_000,
      updated_at: micros(9),
      started_at: micros(3),
      start_delay: micros(3) - recordedAtMs(1n) * 1_000,
      duration: 6_000_000, // microseconds, as all times here
      duration_class: 1, // 1 to 10 seconds
      tags: '[["area","a"],["team","b"],["zone","c"],["nightly",""]]',
      error_kind: 'USER',
      error_code: 'USER:Bad',
      error_message: 'bad',
      abort_cause: null,
      abort_principal: null,
      outputs_at: null,
      launch_entity: 'launch_plan',
      launch_plan: 'launchPlan-flytesnacks:staging:nightly/v1',
      launch_plan_project: 'flytesnacks',
      launch_plan_domain: 'staging',
      launch_plan_name: 'nightly',
      launch_plan_version: 'v1',
      workflow: 'workflow-flytesnacks:staging:train:v1',
      workflow_project: 'flytesnacks',
      workflow_domain: 'staging',
      workflow_name: 'train',
      workflow_version: 'v1',
      task: null,
      task_project: null,
      task_domain: null,
      task_name: null,
      task_version: null,
      quality_of_service: 'HIGH',
      queueing_budget: 7_000_000,
      source: 'execution-flytesnacks:development:before',
      parent_node: 'execution-flytesnacks:development:parent/n3',
    });
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

  it('keeps its time of update when a later report has an earlier time', async () => {
    const { updatedAt } = await closureAfter(workflow('RUNNING', { second: 9 }), workflow('FAILING', { second: 4 }));
    expect(timestampMs(updatedAt!)).toBe(second(9));
  });

  it('that is terminated shows the principal and the cause, and keeps its time of update', async () => {
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

  it.each([
    ['the error as the cause', failure('evicted'), 'evicted'],
    ['no cause when there is no error', {}, ''],
  ])('that an engine aborts by itself shows %s', async (_, result, cause) => {
    const { outputResult } = await closureAfter(workflow('ABORTED', result));
    expect(outputResult).toMatchObject({ case: 'abortMetadata', value: { cause, principal: '' } });
  });

  it('shows its termination, also after an error, and when it succeeds afterwards without outputs', async () => {
    const failing = workflow('FAILING', failure('bad'));
    const cases = [[], [failing], [termination], [failing, termination], [termination, workflow('SUCCEEDED')]];
    const shown = await Promise.all(cases.map(async (each) => (await closureAfter(...each)).outputResult.case));
    expect(shown).toEqual([undefined, 'error', 'abortMetadata', 'abortMetadata', 'abortMetadata']);
  });

  it('that has run longer than it may is TIMED_OUT when its engine aborts it', async () => {
    const timeOut = { type: 'TimeOutExecution', id, afterMs: 1_000 } as const;
    expect((await closureAfter(timeOut, workflow('ABORTED'))).phase).toBe(Phase.TIMED_OUT);
  });

  it('keeps the result and the duration of a phase that is reported again', async () => {
    const first = workflow('FAILING', failure('first'));
    const again = workflow('FAILING', { second: 1, ...(failure('again') as object) });
    const errorAfter = async (...commands: readonly ExecutionCommand[]) =>
      (await documentOf(...commands)).fields['error_message'];
    expect(await errorAfter(first, again)).toBe('first');
    expect(await errorAfter(workflow('FAILING'), again)).toBe('again');
    expect(await errorAfter(first, workflow('FAILED', failure('last')))).toBe('last');
    const ends = [workflow('SUCCEEDED', { second: 5 }), workflow('SUCCEEDED', { second: 9 })];
    expect((await closureAfter(workflow('RUNNING', { second: 1 }), ...ends)).duration!.seconds).toBe(4n);
  });

  it('has no document without the event that creates it', () => {
    const { recorded } = openStream(creation, workflow('RUNNING'), termination);
    expect(documentsAfter(executions, recorded.slice(1)).size).toBe(0);
  });

  it('is the same when it is stored and loaded again after every event', () => {
    const tag = { type: 'UpdateExecution', id, state: ExecutionState.EXECUTION_ARCHIVED, tags: ['a'] } as const;
    const outputs = { outputResult: { case: 'outputData', value: create(LiteralMapSchema) } } as const;
    const { recorded } = openStream(
      creation,
      workflow('QUEUED', { producer: 'east' }),
      workflow('RUNNING', { second: 1 }),
      { ...tag, principal: 'bob' },
      workflow('SUCCEEDING', { second: 2, ...outputs }),
      termination,
      workflow('SUCCEEDED', { second: 3 }),
      workflow('SUCCEEDED', { second: 4 }),
    );
    const [document] = documentsAfter(executions, recorded).values();
    expect(document!.fields).toMatchObject({ abort_cause: 'enough', outputs_at: 5 });
    expect([...documentsAfter(executions, recorded, 1).values()]).toEqual([document]);
  });

  it('is shown with empty fields where its first event names neither the execution nor its workflow', () => {
    const { recorded } = openStream({ ...creation, created: create(ExecutionCreatedSchema) });
    const [document] = documentsAfter(executions, recorded).values();
    const empty = {
      project: '',
      domain: '',
      name: '',
      user: '',
      cluster: '',
      mode: ExecutionMetadata_ExecutionMode.MANUAL,
      tags: null,
      source: null,
    };
    expect(document!.fields).toMatchObject({ ...empty, parent_node: null, quality_of_service: null });
    const later = { started_at: null, start_delay: null, duration: null, duration_class: null };
    expect(document!.fields).toMatchObject({ ...later, error_kind: null, error_code: null, error_message: null });
    expect(answerOf(document!).closure!.stateChangeDetails!.principal).toBe('');
  });

  it('is searched by the first and the last thousand characters of its error, once it fails or is aborted', async () => {
    const message = `${'a'.repeat(1_000)}between${'z'.repeat(1_000)}`;
    for (const phase of ['FAILING', 'ABORTED'] as const) {
      const { fields } = await documentOf(workflow(phase, failure(message)));
      expect(fields).toMatchObject({ error_message: `${'a'.repeat(1_000)}…${'z'.repeat(1_000)}` });
    }
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

  it('is archived and tagged, which leaves its time of update as it was', async () => {
    const update = { type: 'UpdateExecution', id, state: ExecutionState.EXECUTION_ARCHIVED, principal: 'bob' } as const;
    const document = await documentOf({ ...update, tags: ['nightly'] });
    const { spec, closure } = answerOf(document);
    expect(spec).toMatchObject({ tags: ['nightly'] });
    expect(closure!.stateChangeDetails).toMatchObject({ state: ExecutionState.EXECUTION_ARCHIVED, principal: 'bob' });
    expect(timestampMs(closure!.updatedAt!)).toBe(recordedAtMs(1n));
    expect(document.fields).toMatchObject({ state: ExecutionState.EXECUTION_ARCHIVED });
  });

  it('takes the cluster of the engine that queues it', async () => {
    const document = await documentOf(workflow('QUEUED', { producer: 'east' }));
    expect(answerOf(document).spec!.metadata!.systemMetadata!.executionCluster).toBe('east');
    expect(document.fields).toMatchObject({ cluster: 'east' });
  });

  it.each([
    ['takes the cluster of the engine that queues it, instead of that of its creation', 'QUEUED', 'east', 'east'],
    ['keeps its cluster when an engine reports another phase', 'RUNNING', 'east', 'west'],
    ['keeps its cluster when the default engine queues it', 'QUEUED', 'propeller', 'west'],
    ['keeps its cluster when an engine without a name queues it', 'QUEUED', '', 'west'],
  ] as const)('%s', (_, phase, producer, cluster) => {
    const spec = { metadata: { systemMetadata: { executionCluster: 'west' } } };
    const to = { group: 'default', engine: 'e', session: 's', producerId: producer };
    const run = openStream(
      { ...creation, created: create(ExecutionCreatedSchema, { id, spec }) },
      { type: 'LeaseWork', id, to, untilMs: 0, over: undefined },
      workflow(phase, { producer }),
    );
    expect(run.recorded).toHaveLength(3);
    const [document] = documentsAfter(executions, run.recorded).values();
    expect(document!.fields).toMatchObject({ cluster });
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

  it('shows the URI of its outputs in `closure.outputs`', async () => {
    const document = await documentOf(
      workflow('SUCCEEDED', { outputResult: { case: 'outputUri', value: 's3://b/o' } }),
    );
    const { fields } = document;
    const { outputResult } = answerOf(document).closure!;
    expect(outputResult).toMatchObject({ case: 'outputs', value: { data: { case: 'uri', value: 's3://b/o' } } });
    expect(fields).toMatchObject({ outputs_at: null });
  });

  it('shows outputs that came with the event, and lists leave them out', async () => {
    const value = create(LiteralMapSchema, { literals: { n: { hash: 'h' } } });
    const document = await documentOf(workflow('SUCCEEDED', { outputResult: { case: 'outputData', value } }));
    expect(answerOf(document).closure!.outputResult).toEqual({ case: 'outputData', value });
    expect(fromBinary(ExecutionSchema, document.listElement!).closure!.outputResult.case).toBeUndefined();
    expect(document.fields).toMatchObject({ outputs_at: 1 });
  });

  it('is the same in lists when its error has at most 100 bytes', async () => {
    const document = await documentOf(workflow('FAILED', failure('x'.repeat(100))));
    expect(document).not.toHaveProperty('listElement');
    expect(document).not.toHaveProperty('foldState');
  });

  it('has its error cut in lists, to at most 100 bytes and between two characters', async () => {
    const document = await documentOf(workflow('FAILED', failure(`${'x'.repeat(99)}äöü`)));
    const { outputResult } = fromBinary(ExecutionSchema, document.listElement!).closure!;
    expect(outputResult).toHaveProperty('value.message', 'x'.repeat(99));
    expect(answerOf(document).closure!.outputResult).toHaveProperty('value.message', `${'x'.repeat(99)}äöü`);
  });

  it('is the same after a report of a phase that may not follow its own', async () => {
    const before = await documentOf(workflow('RUNNING', { second: 1 }), workflow('FAILING', { second: 2 }));
    const after = await documentOf(
      workflow('RUNNING', { second: 1 }),
      workflow('FAILING', { second: 2 }),
      workflow('SUCCEEDED', { second: 3 }),
    );
    expect(toBinary(ExecutionSchema, answerOf(after))).toEqual(toBinary(ExecutionSchema, answerOf(before)));
  });
});
