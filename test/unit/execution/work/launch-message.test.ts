import { create, toBinary } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';

import { CompiledWorkflowClosureSchema } from '../../../../proto/gen/platformidl/core/compiler_pb.js';
import { QualityOfService_Tier as Tier } from '../../../../proto/gen/platformidl/core/execution_pb.js';
import { ResourceType } from '../../../../proto/gen/platformidl/core/identifier_pb.js';
import { LiteralMapSchema } from '../../../../proto/gen/platformidl/core/literals_pb.js';
import { WorkLaunchSchema } from '../../../../proto/gen/platformidl/eventlog/engine_work_pb.js';
import { ExecutionCreatedSchema } from '../../../../proto/gen/platformidl/eventlog/execution_pb.js';
import type { LeaseWork } from '../../../../services/execution/commands.js';
import { NODE, TASK, WORKFLOW } from '../../../../services/execution/phases.js';
import {
  abortOf,
  type LaunchFacts,
  launchMessage,
  launchState,
  sizedClosure,
} from '../../../../services/execution/work/launch-message.js';
import { creation, id, node, openStream, task, taskId, termination, workflow } from '../reports.js';

const place = { project: 'flytesnacks', domain: 'development' };
const workflowId = { resourceType: ResourceType.WORKFLOW, ...place, name: 'a/b', version: 'v 1' };
const launchPlanId = { resourceType: ResourceType.LAUNCH_PLAN, ...place, name: 'plan', version: 'v1' };
const containerTask = { resourceType: ResourceType.TASK, ...place, name: 'greet', version: 'v1' };

const CLOSURE = sizedClosure(
  create(CompiledWorkflowClosureSchema, {
    primary: { template: { id: workflowId } },
    tasks: [
      { template: { id: containerTask, target: { case: 'container', value: {} } } },
      { template: { id: containerTask, target: { case: 'sql', value: {} } } },
      { template: { target: { case: 'container', value: {} } } },
      {},
    ],
  }),
);

const INPUTS = create(LiteralMapSchema, { literals: { name: { hash: 'h' } } });

/** A small execution without a timeout. */
const FACTS: LaunchFacts = {
  id,
  created: create(ExecutionCreatedSchema, { id }),
  createdAtMs: 1_700_000_000_500,
  timeoutMs: 0,
  workflow: CLOSURE,
  inputs: toBinary(LiteralMapSchema, INPUTS),
  maxInlineBytes: 1_000,
};

const messageOf = (created: Parameters<typeof create<typeof ExecutionCreatedSchema>>[1]) =>
  launchMessage({ ...FACTS, created: create(ExecutionCreatedSchema, created) }, {});

/** Leases the execution to an engine; `ended` is the number of the lease before, when that has ended. */
const leaseTo = (engine: string, ended?: number): LeaseWork => ({
  type: 'LeaseWork',
  id,
  to: { group: 'default', engine, session: `session of ${engine}`, producerId: engine },
  untilMs: 1_700_000_030_000,
  over: ended,
});

describe('the launch of an execution', () => {
  it('has the workflow and the inputs when they are small', () => {
    const { workflow: sent, input } = launchMessage(FACTS, {});
    expect(sent).toEqual({ case: 'closure', value: CLOSURE.closure });
    expect(input).toEqual({ case: 'inputs', value: INPUTS });
  });

  it.each([
    ['a workflow', CLOSURE.bytes, 'workflow', 'closure'],
    ['inputs', FACTS.inputs.length, 'input', 'inputs'],
  ] as const)('has %s up to the size that the engine takes, and a reference above it', (_, bytes, field, name) => {
    expect(launchMessage({ ...FACTS, maxInlineBytes: bytes }, {})[field].case).toBe(name);
    expect(launchMessage({ ...FACTS, maxInlineBytes: bytes - 1 }, {})[field].case).toBe(`${name}Reference`);
  });

  it('has the spec of the request without the inputs that the spec had', () => {
    const spec = { inputs: { literals: { name: { hash: 'x'.repeat(10_000) } } }, tags: ['a'] };
    const message = messageOf({ spec });
    expect(message.spec?.tags).toEqual(['a']);
    expect(toBinary(WorkLaunchSchema, message).length).toBeLessThan(2_000);
    expect(messageOf({ spec: { tags: ['b'] } }).spec?.tags).toEqual(['b']);
  });

  it('refers to a large workflow and large inputs by path and size', () => {
    const created = create(ExecutionCreatedSchema, { workflowId });
    const large = launchMessage({ ...FACTS, created, maxInlineBytes: 0 }, {});
    expect([large.workflow.value, large.input.value]).toMatchObject([
      { path: '/api/v1/workflows/flytesnacks/development/a%2Fb/v%201', sizeBytes: BigInt(CLOSURE.bytes) },
      { path: '/api/v1/data/executions/flytesnacks/development/run', sizeBytes: BigInt(FACTS.inputs.length) },
    ]);
    expect(launchMessage({ ...FACTS, maxInlineBytes: 0 }, {}).workflow.value).toMatchObject({ path: '' });
  });

  it('has the fields that were recorded when the execution was created', () => {
    const spec = { spec: { maxParallelism: 3 }, config: { maxParallelism: 4 } };
    expect(messageOf({ workflowId, launchPlanId, ...spec })).toMatchObject({ workflowId, launchPlanId, ...spec });
    expect(messageOf({ taskId: containerTask })).toMatchObject({ taskId: containerTask });
    const bare = messageOf({});
    for (const field of ['workflowId', 'launchPlanId', 'taskId', 'spec', 'config', 'settings'])
      expect(bare).not.toHaveProperty(field);
  });

  it('has the settings of the execution', () => {
    const common = {
      tier: Tier.HIGH,
      queueingBudget: { seconds: 7n },
      clusterLabel: { value: 'gpu' },
      queue: { tags: ['fast'] },
      pluginOverrides: { overrides: [{ taskType: 'spark' }] },
      taskResources: { limits: { cpu: '8' } },
    };
    const { settings } = messageOf({ engine: { ...common, clusterAssignment: { clusterPoolName: 'main' } } });
    expect(settings).toMatchObject({ ...common, clusterPool: 'main' });
    const bare = messageOf({ engine: {} }).settings;
    expect(bare).toMatchObject({ tier: Tier.UNDEFINED, clusterPool: '' });
    for (const field of ['queueingBudget', 'clusterLabel', 'queue', 'pluginOverrides', 'taskResources'])
      expect(bare).not.toHaveProperty(field);
  });

  it('has the resources of each task that has an id and a container', () => {
    const { containers } = messageOf({ engine: { taskResources: { defaults: { cpu: '3', memory: '1Gi' } } } });
    expect(containers).toMatchObject([{ taskId: containerTask, resources: { requests: [{ value: '3' }, {}] } }]);
    expect(messageOf({}).containers).toHaveLength(1);
  });

  it('has the time of creation, and a deadline when there is a timeout', () => {
    const limited = launchMessage({ ...FACTS, timeoutMs: 1_000 }, {});
    expect(limited.createdAt).toEqual(timestampFromMs(1_700_000_000_500));
    expect(limited.deadline).toEqual(timestampFromMs(1_700_000_001_500));
    expect(launchMessage(FACTS, {})).not.toHaveProperty('deadline');
  });

  it('has the progress in the state of the execution', () => {
    const progress = launchState(openStream(creation, leaseTo('a'), leaseTo('b', 1)).state());
    expect(launchMessage(FACTS, progress).progress).toEqual(progress.progress);
  });
});

describe('the fields of a launch from the state of its execution', () => {
  it('are none on the first lease, unless the execution is ABORTING', () => {
    expect(launchState(openStream(creation, leaseTo('a')).state())).toEqual({});
  });

  it('have the phases that were reported before, on a later lease', () => {
    const stream = openStream(
      ...[creation, leaseTo('a'), workflow('RUNNING', { producer: 'a' })],
      ...[node('RUNNING', { producer: 'a', node: 'n1' }), node('RUNNING', { producer: 'a', second: 1 })],
      ...[task('RUNNING', { producer: 'a', version: 2, attempt: 1 }), leaseTo('b', 1)],
    );
    expect(launchState(stream.state()).progress).toMatchObject({
      phase: WORKFLOW.RUNNING,
      isCut: false,
      nodes: [
        { nodeId: 'n1', phase: NODE.RUNNING, tasks: [] },
        {
          nodeId: 'n0',
          phase: NODE.RUNNING,
          tasks: [{ taskId: { name: taskId.name }, attempt: 1, phase: TASK.RUNNING, phaseVersion: 2 }],
        },
      ],
    });
  });

  it.each([
    [5_000, false],
    [5_001, true],
  ])('have 5,000 nodes at most; of %i nodes, some are left out: %s', (count, isCut) => {
    const state = openStream(creation, leaseTo('a'), leaseTo('b', 1)).state();
    const nodes = new Map(
      Array.from({ length: count }, (_, at) => [
        `n${at}`,
        { phase: NODE.QUEUED, last: 0, isInferred: false, tasks: [] },
      ]),
    );
    const { progress } = launchState({ ...state, nodes });
    expect([progress?.nodes.length, progress?.nodes.at(-1)?.nodeId, progress?.isCut]).toEqual([5_000, 'n4999', isCut]);
  });

  it('have a requested abort while the execution is ABORTING', () => {
    expect(launchState(openStream(creation, leaseTo('a'), termination).state()).abort).toMatchObject({
      cause: 'enough',
      principal: 'ada',
      timedOut: false,
    });
    const ended = openStream(creation, leaseTo('a'), termination, workflow('ABORTED', { producer: 'a' })).state();
    expect([ended.abort, abortOf(ended)]).toMatchObject([{ cause: 'enough' }, undefined]);
  });
});
