import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  NodeExecution_Phase as NodePhase,
  TaskExecution_Phase as TaskPhase,
  WorkflowExecution_Phase as Phase,
} from '../../../proto/gen/platformidl/core/execution_pb.js';
import { readDynamicClosures } from '../../../engine/definitions.js';
import { isNodeEnd, isTaskEnd } from '../../../engine/walk/ledger.js';
import { type FakeOptions, type Outcome, type Reported, walk } from './fake-control-plane.js';
import { type FixtureExecution, fixtureExecutions, registeredWorld } from './world.js';

const world = registeredWorld();
const executions = fixtureExecutions(world);
const closures = readDynamicClosures('test/fixtures/06-dynamic/dynamic');

const named = (name: string): FixtureExecution => executions.find((each) => each.name === name)!;

const run = ({ name, launched }: FixtureExecution, options: FakeOptions = {}): Outcome =>
  walk(world, name, launched, { dynamicClosure: (task) => closures.get(task), ...options });

const phases = ({ nodes }: Reported): Record<string, string> =>
  Object.fromEntries([...nodes].map(([id, { phase }]) => [id, NodePhase[phase]] as const).sort());

const isClosed = ({ nodes, tasks }: Reported): boolean =>
  [...nodes.values()].every(({ phase }) => isNodeEnd(phase)) && [...tasks.values()].every(isTaskEnd);

const anyExecution = fc.constantFrom(
  ...executions.filter(({ fixture }) => fixture !== '12-big').map(({ name }) => name),
);
const anySeed = fc.integer().map(String);

describe('a walk', () => {
  it('that another engine goes on with comes to the same end', () => {
    let resumptions = 0;
    fc.assert(
      fc.property(anyExecution, fc.nat(80), fc.double({ min: 0, max: 0.5, noNaN: true }), (name, stopAt, chance) => {
        const each = named(name);
        const options = { failureProbability: chance };
        const whole = run(each, options).execution;
        const begun = run(each, { ...options, stopAt }).execution;
        if (isClosed(begun) && begun.phase > Phase.SUCCEEDING) return;
        resumptions += 1;
        const resumed = run(each, { ...options, before: begun }).execution;
        expect(Phase[resumed.phase]).toBe(Phase[whole.phase]);
        if (whole.phase === Phase.SUCCEEDED) expect(phases(resumed)).toEqual(phases(whole));
        expect(resumed.result).toEqual(whole.result);
        expect(isClosed(resumed)).toBe(true);
      }),
      { numRuns: 50 },
    );
    expect(resumptions).toBeGreaterThan(5);
  });

  it('that another engine goes on with ends no attempt that had been aborted before', () => {
    const options = { failureProbability: 0.5 };
    const begun = run(named('all-kinds-run'), { ...options, stopAt: 25 }).execution;
    expect(TaskPhase[begun.tasks.get('n7/0')!]).toBe('ABORTED');
    expect(isNodeEnd(begun.nodes.get('n7')!.phase)).toBe(false);
    const resumed = run(named('all-kinds-run'), { ...options, before: begun }).execution;
    expect(Phase[resumed.phase]).toBe('FAILED');
    expect(isClosed(resumed)).toBe(true);
  });

  it('that is aborted leaves nothing open', () => {
    fc.assert(
      fc.property(anyExecution, fc.integer({ min: 1, max: 12 }), (name, abortAt) => {
        const each = named(name);
        const { phase, ...rest } = run(each, { abortAt }).execution;
        expect(Phase[phase]).toBe('ABORTED');
        expect(isClosed({ ...rest, phase })).toBe(true);
      }),
      { numRuns: 50 },
    );
  });

  it('with chance failures ends closed, and the same again', () => {
    fc.assert(
      fc.property(anyExecution, anySeed, fc.double({ min: 0, max: 1, noNaN: true }), (name, seed, chance) => {
        const each = named(name);
        const options = { seed, failureProbability: chance };
        const first = run(each, options);
        expect(['SUCCEEDED', 'FAILED']).toContain(Phase[first.execution.phase]);
        for (const reported of [first.execution, ...first.children.values()]) expect(isClosed(reported)).toBe(true);
        expect(run(each, options).execution.reports).toEqual(first.execution.reports);
      }),
      { numRuns: 30 },
    );
  });
});

describe('a failing task', () => {
  const failed = run(named('big-run'), { failureProbability: 1 }).execution;

  it('is tried as often as its node allows', () => {
    const { tasks } = run(named('fails-on-odd'), { failureProbability: 1 }).execution;
    expect([...tasks].filter(([, phase]) => phase === TaskPhase.FAILED).map(([key]) => key.split('/')[1])).toContain(
      '2',
    );
  });

  it('fails its execution, whose other nodes are aborted', () => {
    expect(Phase[failed.phase]).toBe('FAILED');
    const ends = Object.values(phases(failed)).filter((phase) => phase !== 'SUCCEEDED');
    expect(new Set(ends)).toEqual(new Set(['FAILED']));
  });

  it('lets the nodes that do not need it go on where the policy says so', () => {
    const seeds = Array.from({ length: 60 }, (_, seed) => String(seed));
    const ends = seeds.map((seed) => run(named('keeps-going'), { seed, failureProbability: 0.6 }).execution);
    const oneFailed = ends.find(({ nodes }) => nodes.get('n0')?.phase === NodePhase.FAILED && nodes.has('n1'))!;
    expect(isNodeEnd(oneFailed.nodes.get('n1')!.phase)).toBe(true);
    expect(oneFailed.nodes.get('n1')!.phase).not.toBe(NodePhase.ABORTED);
    expect(oneFailed.nodes.has('n2')).toBe(false);
    expect(oneFailed.nodes.has('fn0')).toBe(true);
  });

  it('is handled by the failure node before the execution is FAILED', () => {
    const { reports } = run(named('keeps-going'), { failureProbability: 1 }).execution;
    const handler = reports.findIndex(({ kind, event }) => kind === 'node' && event.id?.nodeId === 'fn0');
    const failing = reports.findIndex(({ kind, event }) => kind === 'workflow' && event.phase === Phase.FAILING);
    expect(handler).toBeGreaterThan(failing);
    const given = reports.find(({ kind, event }) => kind === 'node' && event.id?.nodeId === 'fn0');
    const inputs =
      given?.kind === 'node' && given.event.inputValue.case === 'inputData' ? given.event.inputValue.value : undefined;
    expect(
      JSON.stringify(inputs?.literals['err'], (_, value: unknown) =>
        typeof value === 'bigint' ? String(value) : value,
      ),
    ).toContain('failed by chance');
  });
});

describe('a task with a timeout', () => {
  it('may fail by time, as its node then says', () => {
    const seeds = Array.from({ length: 20 }, (_, seed) => String(seed));
    const ends = seeds.map((seed) => phases(run(named('all-kinds-run'), { seed, failureProbability: 1 }).execution));
    expect(new Set(ends.flatMap((each) => Object.values(each)))).toContain('TIMED_OUT');
  });
});

describe('a branch', () => {
  const seeds = Array.from({ length: 60 }, (_, seed) => String(seed));
  const ends = seeds.map((seed) => run(named('branch-no-truck'), { seed }).execution);

  it('takes the case that the outputs of its seed satisfy, and skips the others', () => {
    const cases = ends.map((each) => ['n2-0-n2-n0', 'n2-0-n2-n1', 'n2-0-n2-n2'].map((id) => phases(each)[id]));
    expect(cases.every((each) => each.filter((phase) => phase !== 'SKIPPED').length <= 1)).toBe(true);
  });

  it('fails its execution with the error of a case that fails', () => {
    const failed = ends.filter(({ phase }) => phase === Phase.FAILED);
    expect(failed.length).toBeGreaterThan(0);
    for (const { end } of failed) {
      expect(end).toMatchObject({
        error: { message: expect.stringMatching(/no truck leaves|nothing carries/) as string },
      });
    }
  });
});

describe('a recovered execution', () => {
  it('takes over what its reference has finished and runs the rest', () => {
    const reference = run(named('diamond-remote-data')).execution;
    const finished = new Set(['n0', 'n1']);
    const recovered = run(named('diamond-remote-data'), {
      isRecovery: true,
      recall: (id) => (finished.has(id) ? reference.outputs.get(id) : undefined),
    }).execution;
    expect(phases(recovered)).toMatchObject({ n0: 'RECOVERED', n1: 'RECOVERED', n2: 'SUCCEEDED', n3: 'SUCCEEDED' });
    expect(recovered.result).toEqual(reference.result);
  });
});

describe('a gate', () => {
  it('waits for its signal where gates do not open by themselves', () => {
    const waited = run(named('editorial-run'), { gates: 'wait', stopAt: 5 }).execution;
    expect(phases(waited)).toMatchObject({ n1: 'RUNNING', n2: 'RUNNING', n3: 'RUNNING', n4: 'RUNNING' });
  });
});

describe('an array node', () => {
  it('reports its elements as external resources of one task, and fails below its share of successes', () => {
    const { nodes, reports } = run(named('picture-of-five'), { failureProbability: 1 }).execution;
    expect(NodePhase[nodes.get('n0')!.phase]).toBe('FAILED');
    const elements = reports.flatMap(({ kind, event }) =>
      kind === 'task' && event.parentNodeExecutionId?.nodeId === 'n0' ? (event.metadata?.externalResources ?? []) : [],
    );
    expect(new Set(elements.map(({ index }) => index))).toEqual(new Set([0, 1, 2, 3, 4]));
    expect(Math.max(...elements.map(({ retryAttempt }) => retryAttempt))).toBe(1);
  });

  it('reports as clients know arrays: by the type of the task and its plugin, with a hyphen in the names of logs', () => {
    const events = run(named('picture-of-five')).execution.reports.flatMap(({ kind, event }) =>
      kind === 'task' && event.metadata!.externalResources.length > 0 ? [event] : [],
    );
    expect(events.length).toBeGreaterThan(0);
    expect(new Set(events.map(({ taskType, metadata }) => `${taskType} ${metadata!.pluginIdentifier}`))).toEqual(
      new Set(['container_array k8s-array']),
    );
    const logs = events.flatMap(({ metadata }) => metadata!.externalResources.flatMap((each) => each.logs));
    expect(logs.every(({ name }) => /^Element-\d+-\d+$/u.test(name))).toBe(true);
  });

  it('starts one execution for each element of a launch plan', () => {
    expect(run(named('picture-of-five')).children.size).toBe(5);
    expect(run(named('picture-of-none')).execution.result['o1']?.value).toMatchObject({ case: 'collection' });
  });
});

describe('a dynamic node', () => {
  const reported = run(named('dynamic-defaults')).execution;

  it('reports the closure before the nodes below it, under ids that are hashed when they grow long', () => {
    expect(NodePhase[reported.nodes.get('fmsvd5hi')!.phase]).toBe('SUCCEEDED');
    expect(reported.nodes.get('fmsvd5hi')!.parentNodeMetadata!.nodeId).toBe('n0-0-dn1');
    const order = reported.reports.map(({ kind, event }) =>
      kind === 'node' ? `${event.id!.nodeId} ${NodePhase[event.phase]}` : '',
    );
    expect(order.indexOf('n0 DYNAMIC_RUNNING')).toBeLessThan(order.indexOf('n0-0-start-node SUCCEEDED'));
  });
});
