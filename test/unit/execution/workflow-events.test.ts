import { create, toBinary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import { OpenEntitiesSchema } from '../../../proto/gen/platformidl/eventlog/execution_pb.js';
import { isTerminal, WORKFLOW } from '../../../services/execution/phases.js';
import { type Answer, creation, expiry, node, openStream, task, taskId, termination, workflow } from './reports.js';

const { id } = creation;

type Phase = keyof typeof WORKFLOW;

/** The phases that lead an execution to each phase. */
const ways: Readonly<Record<Exclude<Phase, 'UNDEFINED'>, readonly Phase[]>> = {
  QUEUED: ['QUEUED'],
  RUNNING: ['QUEUED', 'RUNNING'],
  SUCCEEDING: ['QUEUED', 'RUNNING', 'SUCCEEDING'],
  SUCCEEDED: ['QUEUED', 'RUNNING', 'SUCCEEDING', 'SUCCEEDED'],
  FAILING: ['QUEUED', 'RUNNING', 'FAILING'],
  FAILED: ['QUEUED', 'RUNNING', 'FAILING', 'FAILED'],
  ABORTED: ['QUEUED', 'RUNNING', 'ABORTED'],
  TIMED_OUT: ['QUEUED', 'RUNNING', 'TIMED_OUT'],
  ABORTING: ['QUEUED', 'RUNNING', 'ABORTING'],
};

/** Short names for the answers in `table`. */
const [ok, same, stale, ended, aborting]: readonly Answer[] = [
  'OK',
  'phase-recorded',
  'phase-stale',
  'already-terminal',
  'aborting',
] as const;

const phases = [
  'QUEUED',
  'RUNNING',
  'SUCCEEDING',
  'SUCCEEDED',
  'FAILING',
  'FAILED',
  'ABORTED',
  'TIMED_OUT',
  'ABORTING',
] as const;

/** The answer to a report of each phase (columns, in the order of `phases`) in each phase of the execution (rows). */
const table: Readonly<Record<(typeof phases)[number], readonly (Answer | undefined)[]>> = {
  QUEUED: [same, ok, ok, ok, ok, ok, ok, ok, ok],
  RUNNING: ['back-to-queued', same, ok, ok, ok, ok, ok, ok, ok],
  SUCCEEDING: [stale, stale, same, ok, ok, ok, ok, ok, ok],
  FAILING: [stale, stale, stale, stale, same, ok, ok, ok, ok],
  ABORTING: [aborting, aborting, aborting, ok, aborting, ok, ok, ok, same],
  SUCCEEDED: [ended, ended, ended, same, ended, ended, ended, ended, ended],
  FAILED: [ended, ended, ended, ended, ended, same, ended, ended, ended],
  ABORTED: [ended, ended, ended, ended, ended, ended, same, ended, ended],
  TIMED_OUT: [ended, ended, ended, ended, ended, ended, ended, same, ended],
};

/** A stream whose execution was brought to a phase. */
const after = (phase: (typeof phases)[number]) =>
  openStream(creation, ...ways[phase].map((each, second) => workflow(each, { second })));

describe('a workflow event', () => {
  for (const from of phases) {
    for (const [column, to] of phases.entries()) {
      const answer = table[from][column];
      it(`${to} after ${from} is ${answer}`, async () => {
        const run = after(from);
        expect(await run.answer(workflow(to, { second: 60 }))).toBe(answer);
        expect(run.state().phase).toBe(WORKFLOW[answer === 'OK' ? to : from]);
      });
    }
  }

  it('of an unknown execution is refused', async () => {
    expect(await openStream().answer(workflow('RUNNING'))).toBe('execution-not-found');
  });

  it('is refused with the stored phase when the execution has ended', async () => {
    const refusal = await after('FAILED').refusal(workflow('RUNNING', { second: 60 }));
    expect(refusal).toEqual({
      kind: 'already-terminal',
      entity: 'workflow',
      current: WORKFLOW.FAILED,
      to: WORKFLOW.RUNNING,
    });
  });

  it('QUEUED is accepted once from the first engine of an execution', async () => {
    const run = openStream(creation);
    expect(await run.answer(workflow('QUEUED', { producer: 'east' }))).toBe('OK');
    expect(await run.answer(workflow('QUEUED', { producer: 'east', second: 1 }))).toBe('phase-recorded');
  });

  it('QUEUED of another producer hands the execution over', async () => {
    const run = openStream(creation, workflow('QUEUED', { producer: 'east' }));
    expect(await run.answer(workflow('QUEUED', { producer: 'west', second: 1 }))).toBe('OK');
    expect(run.state().cluster).toBe('west');
    expect(await run.answer(workflow('RUNNING', { producer: 'east', second: 2 }))).toBe('incompatible-cluster');
    expect(await run.answer(workflow('RUNNING', { producer: 'west', second: 2 }))).toBe('OK');
  });

  it('is refused with both clusters when its own is not that of the execution', async () => {
    const run = openStream(creation, workflow('QUEUED', { producer: 'east' }));
    const refusal = await run.refusal(workflow('RUNNING', { producer: 'west', second: 2 }));
    expect(refusal).toEqual({ kind: 'incompatible-cluster', cluster: 'west', stored: 'east' });
  });

  it('QUEUED of another producer comes too late once the execution runs', async () => {
    const run = openStream(creation, workflow('QUEUED', { producer: 'east' }), workflow('RUNNING', { second: 1 }));
    expect(await run.answer(workflow('QUEUED', { producer: 'west', second: 2 }))).toBe('back-to-queued');
  });

  it('ABORTING records an announcement of the termination, by which a reactor ends the execution if the engine does not', () => {
    const events = openStream(creation, workflow('ABORTING')).events();
    expect(events.slice(1)).toMatchObject([
      { type: 'WorkflowPhaseReported' },
      { type: 'TerminationAnnounced', data: { id } },
    ]);
  });

  it('that repeats its phase is not recorded when it comes from another cluster', async () => {
    const run = openStream(creation, workflow('QUEUED', { producer: 'east' }), workflow('RUNNING', { second: 1 }));
    expect(await run.answer(workflow('RUNNING', { producer: 'west', second: 2 }))).toBe('phase-recorded');
    expect(run.recorded).toHaveLength(3);
    expect(await run.answer(workflow('RUNNING', { producer: 'east', second: 3 }))).toBe('phase-recorded');
    expect(run.recorded).toHaveLength(4);
  });

  it('is not checked against the cluster when it comes from a default producer', async () => {
    const run = openStream(creation, workflow('QUEUED', { producer: 'east' }));
    expect(await run.answer(workflow('RUNNING', { producer: 'propeller', second: 1 }))).toBe('OK');
    expect(await run.answer(workflow('SUCCEEDING', { second: 2 }))).toBe('OK');
  });

  it('delivered again after the phase has moved on is recognized, and recorded once', async () => {
    const run = after('RUNNING');
    const before = run.recorded.length;
    expect(await run.answer(workflow('QUEUED', { second: 0 }))).toBe('phase-recorded');
    expect(await run.answer(workflow('RUNNING', { second: 1 }))).toBe('phase-recorded');
    expect(run.recorded).toHaveLength(before);
  });

  it('delivered again after the end is recognized, and recorded once', async () => {
    const run = after('SUCCEEDED');
    const before = run.recorded.length;
    expect(await run.answer(workflow('RUNNING', { second: 1 }))).toBe('phase-recorded');
    expect(await run.answer(workflow('SUCCEEDED', { second: 3 }))).toBe('phase-recorded');
    expect(run.recorded).toHaveLength(before);
  });

  it('that repeats its phase with new content is refused, but recorded', async () => {
    const run = after('RUNNING');
    expect(await run.answer(workflow('RUNNING', { second: 60 }))).toBe('phase-recorded');
    expect(run.events().at(-1)).toMatchObject({ type: 'WorkflowPhaseReported', data: { samePhase: true } });
  });

  it('that is stale is not recorded', async () => {
    const run = after('FAILING');
    const before = run.recorded.length;
    await run.answer(workflow('SUCCEEDING', { second: 60 }));
    expect(run.recorded).toHaveLength(before);
  });
});

describe('the end of an execution', () => {
  /** An execution with n0 and its task running, n1 ended with its task, and n2 queued. */
  const past = [
    creation,
    workflow('RUNNING'),
    node('RUNNING'),
    task('RUNNING'),
    node('SUCCEEDED', { node: 'n1' }),
    task('FAILED', { node: 'n1' }),
    node('QUEUED', { node: 'n2' }),
  ];

  it('closes open nodes and attempts in the event that ends the execution', async () => {
    const run = openStream(...past);
    await run.answer(workflow('ABORTED', { second: 9 }));
    expect(run.recorded).toHaveLength(past.length + 1);
    const { nodes } = run.state();
    expect([...nodes].map(([id, { phase, isInferred }]) => [id, isTerminal('node', phase), isInferred])).toEqual([
      ['n0', true, true],
      ['n1', true, false],
      ['n2', true, true],
    ]);
    expect(nodes.get('n0')?.tasks[0]?.isInferred).toBe(true);
    expect(nodes.get('n1')?.tasks[0]?.isInferred).toBe(false);
  });

  it.each([
    ['a report of its end', [workflow('ABORTED', { second: 9 })]],
    ['an expiry', [termination, expiry]],
  ])('lists in its event the nodes and attempts that it closes: %s', (_, commands) => {
    const run = openStream(...past, task('RUNNING', { attempt: 1 }), ...commands);
    const tasks = [
      { node: 'n0', taskId, attempt: 0 },
      { node: 'n0', taskId, attempt: 1 },
    ];
    const closed = create(OpenEntitiesSchema, { nodes: ['n0', 'n2'], tasks });
    const content = { case: 'inline', value: toBinary(OpenEntitiesSchema, closed) };
    expect(run.events().at(-1)).toMatchObject({ data: { closed: { content } } });
  });

  it.each([
    ['a report of its end', [workflow('SUCCEEDED')]],
    ['an expiry', [termination, expiry]],
  ])('has no list of closed nodes and attempts when it closes none: %s', (_, commands) => {
    const run = openStream(creation, node('SUCCEEDED'), task('FAILED'), ...commands);
    const event = run.events().at(-1);
    expect(event?.type).toMatch(/^(?:WorkflowPhaseReported|ExecutionExpired)$/u);
    expect((event!.data as { readonly closed?: unknown }).closed).toBeUndefined();
  });

  it('lets the engine report once how a closed node ended', async () => {
    const run = openStream(...past, workflow('ABORTED', { second: 9 }));
    expect(await run.answer(node('RUNNING', { second: 10 }))).toBe('already-terminal');
    expect(await run.answer(node('SUCCEEDED', { second: 10 }))).toBe('OK');
    expect(await run.answer(node('FAILED', { second: 11 }))).toBe('already-terminal');
    expect(await run.answer(node('ABORTED', { node: 'n2', second: 10 }))).toBe('OK');
    expect(await run.answer(node('ABORTED', { node: 'n2', second: 10 }))).toBe('phase-recorded');
  });

  it('lets the engine report once how a closed attempt of a task ended', async () => {
    const run = openStream(...past, workflow('ABORTED', { second: 9 }));
    expect(await run.answer(task('RUNNING', { second: 10, version: 1 }))).toBe('already-terminal');
    expect(await run.answer(task('SUCCEEDED', { second: 10 }))).toBe('OK');
    expect(await run.answer(task('FAILED', { second: 11 }))).toBe('already-terminal');
  });

  it('leaves events recognizable that were delivered before the end', async () => {
    const run = openStream(...past, workflow('ABORTED', { second: 9 }));
    expect(await run.answer(node('RUNNING'))).toBe('phase-recorded');
    expect(await run.answer(task('RUNNING'))).toBe('phase-recorded');
  });

  it('lets the end of a node be recorded that was not reported before the execution ended', async () => {
    const run = openStream(...past, workflow('FAILED', { second: 9 }));
    expect(await run.answer(node('SUCCEEDED', { node: 'late', second: 10 }))).toBe('OK');
  });
});

describe('a termination', () => {
  it('makes the execution ABORTING', async () => {
    const run = openStream(creation);
    expect(await run.answer(termination)).toBe('OK');
    expect(run.state().phase).toBe(WORKFLOW.ABORTING);
    expect(run.events().at(-1)).toMatchObject({ data: { cause: 'enough', principal: 'ada', id } });
  });

  it('a second time with the same cause records nothing', async () => {
    const run = openStream(creation, termination);
    expect(await run.answer(termination)).toBe('OK');
    expect(run.recorded).toHaveLength(2);
  });

  it('a second time with another cause replaces the first', async () => {
    const run = openStream(creation, termination);
    expect(await run.answer({ ...termination, cause: 'really' })).toBe('OK');
    expect(run.state().abort?.cause).toBe('really');
  });

  it.each(['SUCCEEDED', 'FAILED', 'ABORTED', 'TIMED_OUT'] as const)('is refused after %s', async (phase) => {
    expect(await after(phase).refusal(termination)).toEqual({ kind: 'cannot-abort', current: WORKFLOW[phase] });
  });

  it('of an unknown execution is refused', async () => {
    expect(await openStream().answer(termination)).toBe('execution-not-found');
  });

  it.each(['SUCCEEDED', 'FAILED', 'ABORTED', 'TIMED_OUT'] as const)(
    'lets the engine end the execution %s',
    async (phase) => {
      expect(await openStream(creation, termination).answer(workflow(phase))).toBe('OK');
    },
  );

  it('keeps the engine from starting the execution', async () => {
    const run = openStream(creation, termination);
    expect(await run.answer(workflow('QUEUED'))).toBe('aborting');
    expect(await run.answer(workflow('RUNNING'))).toBe('aborting');
  });

  it('expires into ABORTED, with the cause, and closes open nodes', async () => {
    const run = openStream(creation, node('RUNNING'), termination);
    expect(await run.answer(expiry)).toBe('OK');
    expect(run.state().phase).toBe(WORKFLOW.ABORTED);
    expect(run.state().nodes.get('n0')?.isInferred).toBe(true);
    const last = run.events().at(-1);
    expect(last).toMatchObject({ type: 'ExecutionExpired', data: { phase: WORKFLOW.ABORTED, principal: 'ada' } });
    expect(last?.type === 'ExecutionExpired' && last.data.cause).toMatch(
      /^enough; ended by the control plane.* 600 s$/,
    );
  });

  it('does not expire twice, nor after the end, nor when it was not requested', async () => {
    for (const past of [
      [],
      [creation],
      [creation, termination, expiry],
      [creation, termination, workflow('SUCCEEDED')],
    ]) {
      const run = openStream(...past);
      const before = run.recorded.length;
      expect(await run.answer(expiry)).toBe('OK');
      expect(run.recorded).toHaveLength(before);
    }
  });
});
