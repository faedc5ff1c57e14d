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

/** Walks an execution of a fixture. */
const run = ({ name, launched }: FixtureExecution, options: FakeOptions = {}): Outcome =>
  walk(world, name, launched, { dynamicClosure: (task) => closures.get(task), ...options });

/** The last phase of each node, by the id of the node. */
const phases = ({ nodes }: Reported): Record<string, string> =>
  Object.fromEntries([...nodes].map(([id, { phase }]) => [id, NodePhase[phase]] as const).sort());

/** True when no node and no attempt of a task is open. */
const isClosed = ({ nodes, tasks }: Reported): boolean =>
  [...nodes.values()].every(({ phase }) => isNodeEnd(phase)) && [...tasks.values()].every(isTaskEnd);

const isOver = (phase: Phase): boolean => [Phase.SUCCEEDED, Phase.FAILED, Phase.ABORTED].includes(phase);

/** The name of an execution of a fixture; the walk of the largest fixture takes too long to repeat. */
const anyExecution = fc.constantFrom(
  ...executions.filter(({ fixture }) => fixture !== '12-big').map(({ name }) => name),
);
const anySeed = fc.integer().map(String);

describe('a walk', () => {
  it('that another engine resumes comes to the same end', () => {
    let resumptions = 0;
    fc.assert(
      fc.property(
        anyExecution,
        fc.nat(80),
        fc.double({ min: 0, max: 0.5, noNaN: true }),
        (name, stopAfterRounds, failureProbability) => {
          const each = named(name);
          const options = { failureProbability };
          const whole = run(each, options).execution;
          const begun = run(each, { ...options, stopAfterRounds }).execution;
          if (isOver(begun.phase)) return;
          resumptions += 1;
          const resumed = run(each, { ...options, before: begun }).execution;
          expect(Phase[resumed.phase]).toBe(Phase[whole.phase]);
          if (whole.phase === Phase.SUCCEEDED) expect(phases(resumed)).toEqual(phases(whole));
          expect(resumed.result).toEqual(whole.result);
          expect(isClosed(resumed)).toBe(true);
        },
      ),
      { numRuns: 50 },
    );
    expect(resumptions).toBeGreaterThan(5);
  });

  it('that another engine has reported as FAILING ends FAILED, also when no node of it has failed', () => {
    const each = named('keeps-going');
    const begun = run(each, { stopAfterRounds: 6 }).execution; // while its nodes run
    expect(begun.phase).toBe(Phase.RUNNING);
    const resumed = run(each, { before: { ...begun, phase: Phase.FAILING } }).execution;
    expect(Phase[resumed.phase]).toBe('FAILED');
    expect(isClosed(resumed)).toBe(true);
  });

  it('that another engine resumes does not end an aborted attempt a second time', () => {
    const options = { failureProbability: 0.5 };
    // After 25 rounds the first attempt of n7 has been aborted, and n7 has not ended.
    const begun = run(named('all-kinds-run'), { ...options, stopAfterRounds: 25 }).execution;
    expect(TaskPhase[begun.tasks.get('n7/0')!]).toBe('ABORTED');
    expect(isNodeEnd(begun.nodes.get('n7')!.phase)).toBe(false);
    const resumed = run(named('all-kinds-run'), { ...options, before: begun }).execution;
    expect(Phase[resumed.phase]).toBe('FAILED');
    expect(isClosed(resumed)).toBe(true);
    const ends = resumed.reports.filter(
      ({ kind, event }) =>
        kind === 'task' &&
        event.parentNodeExecutionId?.nodeId === 'n7' &&
        event.retryAttempt === 0 &&
        isTaskEnd(event.phase),
    );
    expect(ends).toHaveLength(1);
  });

  it('that is aborted ends every node and attempt', () => {
    fc.assert(
      fc.property(anyExecution, fc.integer({ min: 1, max: 12 }), (name, abortAfterRounds) => {
        const each = named(name);
        const { phase, ...rest } = run(each, { abortAfterRounds }).execution;
        expect(Phase[phase]).toBe('ABORTED');
        expect(isClosed({ ...rest, phase })).toBe(true);
      }),
      { numRuns: 50 },
    );
  });

  it('with random failures ends every node and attempt, and sends the same reports when it is repeated', () => {
    fc.assert(
      fc.property(
        anyExecution,
        anySeed,
        fc.double({ min: 0, max: 1, noNaN: true }),
        (name, seed, failureProbability) => {
          const each = named(name);
          const options = { seed, failureProbability };
          const first = run(each, options);
          expect(['SUCCEEDED', 'FAILED']).toContain(Phase[first.execution.phase]);
          for (const reported of [first.execution, ...first.children.values()]) expect(isClosed(reported)).toBe(true);
          expect(run(each, options).execution.reports).toEqual(first.execution.reports);
        },
      ),
      { numRuns: 30 },
    );
  });
});

describe('a failing task', () => {
  it('has one attempt more than the retries of its node', () => {
    const { tasks } = run(named('fails-on-odd'), { failureProbability: 1 }).execution;
    const attempts = (node: string) => [...tasks].filter(([key]) => key.startsWith(`${node}/`));
    const failed = (node: string, attempt: number) => [`${node}/${attempt}`, TaskPhase.FAILED];
    expect(attempts('n0-0-n0')).toEqual([0, 1, 2].map((attempt) => failed('n0-0-n0', attempt))); // two retries
    expect(attempts('n0-0-n1')).toEqual([failed('n0-0-n1', 0)]); // none
  });

  it('fails its execution, and the nodes that still run are aborted', () => {
    const { phase, ...failed } = run(named('big-run'), { failureProbability: 0.02 }).execution;
    expect(Phase[phase]).toBe('FAILED');
    expect(new Set(Object.values(phases({ ...failed, phase })))).toEqual(new Set(['SUCCEEDED', 'FAILED', 'ABORTED']));
  });

  it('lets the nodes that do not depend on it run, with FAIL_AFTER_EXECUTABLE_NODES_COMPLETE', () => {
    const seeds = Array.from({ length: 60 }, (_, seed) => String(seed));
    const runs = seeds.map((seed) => run(named('keeps-going'), { seed, failureProbability: 0.6 }).execution);
    // n1 does not depend on n0, n2 does; fn0 is the failure node.
    const oneFailed = runs.find(({ nodes }) => nodes.get('n0')?.phase === NodePhase.FAILED && nodes.has('n1'))!;
    expect(isNodeEnd(oneFailed.nodes.get('n1')!.phase)).toBe(true);
    expect(oneFailed.nodes.get('n1')!.phase).not.toBe(NodePhase.ABORTED);
    expect(oneFailed.nodes.has('n2')).toBe(false);
    expect(oneFailed.nodes.has('fn0')).toBe(true);
  });

  it('is handled by the failure node, which gets its error, between FAILING and FAILED', () => {
    const { reports } = run(named('keeps-going'), { failureProbability: 1 }).execution;
    const handler = reports.findIndex(({ kind, event }) => kind === 'node' && event.id?.nodeId === 'fn0');
    const failing = reports.findIndex(({ kind, event }) => kind === 'workflow' && event.phase === Phase.FAILING);
    const end = reports.findIndex(({ kind, event }) => kind === 'workflow' && event.phase === Phase.FAILED);
    expect(failing).toBeGreaterThanOrEqual(0);
    expect(handler).toBeGreaterThan(failing);
    expect(end).toBeGreaterThan(handler);
    const handled = reports.find(({ kind, event }) => kind === 'node' && event.id?.nodeId === 'fn0');
    const inputs =
      handled?.kind === 'node' && handled.event.inputValue.case === 'inputData'
        ? handled.event.inputValue.value
        : undefined;
    expect(
      JSON.stringify(inputs?.literals['err'], (_, value: unknown) =>
        typeof value === 'bigint' ? String(value) : value,
      ),
    ).toContain('failed by chance');
  });
});

describe('a task with a timeout', () => {
  it('may exceed it, and its node is then TIMED_OUT', () => {
    const seeds = Array.from({ length: 20 }, (_, seed) => String(seed));
    const phasesOfRuns = seeds.map((seed) =>
      phases(run(named('all-kinds-run'), { seed, failureProbability: 1 }).execution),
    );
    expect(new Set(phasesOfRuns.flatMap((each) => Object.values(each)))).toContain('TIMED_OUT');
  });
});

describe('a branch', () => {
  const seeds = Array.from({ length: 60 }, (_, seed) => String(seed));
  const runs = seeds.map((seed) => run(named('branch-no-truck'), { seed }).execution);

  /** The nodes of the cases: below 5 kg in the inner zone; below 200 kg; from 200 kg with two helpers or more. */
  const CASES = ['n2-0-n2-n0', 'n2-0-n2-n1', 'n2-0-n2-n2'];

  /** The output of n0, in kg. */
  const weightOf = ({ outputs }: Reported): unknown => {
    const weight = outputs.get('n0')?.['o0']?.value;
    return weight?.case === 'scalar' && weight.value.value.case === 'primitive' && weight.value.value.value.value.value;
  };

  it('takes the case whose condition holds, by the outputs that the seed draws, and skips the others', () => {
    const taken = runs.map((each) => {
      const ended = phases(each);
      return [Number(weightOf(each)), CASES.filter((id) => (ended[id] ?? 'SKIPPED') !== 'SKIPPED')] as const;
    });
    for (const [weight, cases] of taken)
      if (weight >= 5) expect(cases).toEqual([weight < 200 ? 'n2-0-n2-n1' : 'n2-0-n2-n2']);
    expect(new Set(taken.map(([, [first]]) => first))).toContain('n2-0-n2-n1');
    expect(new Set(taken.map(([, [first]]) => first))).toContain('n2-0-n2-n2');
  });

  it('fails its execution with the message of the case that it takes, when that case is an error', () => {
    const failed = runs.filter(({ phase }) => phase === Phase.FAILED);
    expect(failed.length).toBeGreaterThan(0);
    for (const { end } of failed) {
      expect(end).toMatchObject({
        error: { message: expect.stringMatching(/no truck leaves|nothing carries/) as string },
      });
    }
  });
});

describe('a recovered execution', () => {
  it('takes over the finished nodes of the earlier execution, with their outputs, and runs the others', () => {
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
  it('waits for its signal when gates do not open by themselves', () => {
    const gatesIn = (gates: 'auto' | 'wait') => {
      const { n1, n2, n3, n4 } = phases(run(named('editorial-run'), { gates, stopAfterRounds: 6 }).execution);
      return [n1, n2, n3, n4];
    };
    expect(gatesIn('auto')).toEqual(Array(4).fill('SUCCEEDED'));
    expect(gatesIn('wait')).toEqual(Array(4).fill('RUNNING'));
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
    expect(Math.max(...elements.map(({ retryAttempt }) => retryAttempt))).toBe(1); // one retry
  });

  it('reports an array as clients expect it: type of the task, plugin, logs named Element-INDEX-ATTEMPT', () => {
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

  it('over a launch plan starts one child execution for each element of its list, which may be empty', () => {
    expect(run(named('picture-of-five')).children.size).toBe(5);
    const none = run(named('picture-of-none'));
    expect(none.children.size).toBe(0);
    expect(none.execution.result['o1']?.value).toMatchObject({ case: 'collection', value: { literals: [] } });
  });
});

describe('a dynamic node', () => {
  const reported = run(named('dynamic-defaults')).execution;

  it('reports DYNAMIC_RUNNING before the nodes below it, whose ids are hashes when they would be too long', () => {
    const hashed = 'fmsvd5hi'; // the hash of `n0-0-dn1-0-start-node`
    expect(NodePhase[reported.nodes.get(hashed)!.phase]).toBe('SUCCEEDED');
    expect(reported.nodes.get(hashed)!.parentNodeMetadata!.nodeId).toBe('n0-0-dn1');
    const order = reported.reports.map(({ kind, event }) =>
      kind === 'node' ? `${event.id!.nodeId} ${NodePhase[event.phase]}` : '',
    );
    expect(order).toContain('n0 DYNAMIC_RUNNING');
    expect(order.indexOf('n0 DYNAMIC_RUNNING')).toBeLessThan(order.indexOf('n0-0-start-node SUCCEEDED'));
  });
});
