import { randomUUID } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CompiledWorkflowClosureSchema } from '../../../../proto/gen/platformidl/core/compiler_pb.js';
import { ExecutionErrorSchema } from '../../../../proto/gen/platformidl/core/execution_pb.js';
import { ResourceType } from '../../../../proto/gen/platformidl/core/identifier_pb.js';
import { LiteralMapSchema } from '../../../../proto/gen/platformidl/core/literals_pb.js';
import { ExecutionLeases, type LeaseServices } from '../../../../services/execution/work/leases.js';
import { WORKFLOW } from '../../../../services/execution/phases.js';
import { metadataOf } from '../../../../services/kernel/event.js';
import type { Sessions } from '../../../../services/kernel/ports/sessions.js';
import { type ControlPlane, openControlPlane } from '../control-plane.js';
import { executionStream } from '../../../../services/kernel/execution-id.js';

const place = { project: 'flytesnacks', domain: 'development' };
const launchPlan = { resourceType: ResourceType.LAUNCH_PLAN, ...place, name: 'hello.hello', version: 'v1' };
/** The largest workflow, and the largest inputs, that a launch has in it. */
const MAX_BYTES = 1_000_000;
/** The end of a lease, and no lease before it. */
const TERMS = { untilMs: 1_700_000_030_000, over: undefined };

const engine = (name: string) => ({ group: 'g', engine: name, session: `session of ${name}`, producerId: name });

describe('leases of executions on a log', () => {
  let plane: ControlPlane;
  let leases: ExecutionLeases;
  /** The number of compiled workflows that were read. */
  let compiled: number;

  beforeAll(async () => {
    plane = await openControlPlane(['01-hello', '05-launch-plans']);
    leases = opened();
  });
  afterAll(() => plane.close());

  /** Leases with the services of the control plane, save those in `more`. Resets `compiled`. */
  const opened = (more: Partial<LeaseServices> = {}): ExecutionLeases => {
    const { sessions, aggregate, log, payloads, definitions, maxOutputBytes } = plane.services;
    compiled = 0;
    const compiledWorkflow: LeaseServices['compiledWorkflow'] = (id) => (
      (compiled += 1),
      definitions.compiledWorkflow(id)
    );
    const services = { sessions, aggregate, log, payloads, compiledWorkflow, maxOutputBytes, timeoutMs: 60_000 };
    return new ExecutionLeases({ ...services, ...more });
  };

  /** An execution that no engine has leased. */
  const fresh = async (plan: object = launchPlan) => {
    const spec = { launchPlan: plan as typeof launchPlan };
    const { id } = await plane.send('createExecution', { ...place, name: `e${randomUUID()}`, spec });
    return { ...place, name: id!.name };
  };
  /** The lease of a new execution by engine `a`. */
  const leased = async (plan: object = launchPlan) => {
    const id = await fresh(plan);
    await leases.lease(id, engine('a'), TERMS);
    return { id, number: 1, session: engine('a').session };
  };
  const types = async ({ name }: { readonly name: string }) => (await plane.history(name)).map(({ type }) => type);

  it('are given to one engine at a time, and recorded with the engine as actor', async () => {
    const id = await fresh();
    const given = await leases.lease(id, engine('a'), TERMS);
    expect(given).toEqual({ kind: 'leased', number: 1, position: expect.any(BigInt) as bigint });
    const last = (await plane.registry.events()).at(-1)!;
    expect(metadataOf(last).actor).toBe('a');
    expect(given).toMatchObject({ position: last.position });
    expect(await leases.lease(id, engine('b'), TERMS)).toEqual({ kind: 'refused', reason: 'lease-held' });
    expect(await leases.lease(id, engine('b'), { ...TERMS, over: 1 })).toMatchObject({ kind: 'leased', number: 2 });
  });

  it('are lost when another engine leases the execution before the first engine has the number of its lease', async () => {
    const id = await fresh();
    const { sessions } = plane.services;
    const readKnown: Sessions['readKnown'] = async (...given) => {
      await leases.lease(id, engine('b'), { ...TERMS, over: 1 });
      return sessions.readKnown(...given);
    };
    const overtaken = opened({ sessions: { ...sessions, readKnown } });
    expect(await overtaken.lease(id, engine('a'), TERMS)).toEqual({ kind: 'refused', reason: 'lease-lost' });
  });

  it('are given back by their session', async () => {
    const lease = await leased();
    expect(await leases.giveBack({ ...lease, session: 'another' }, 'why')).toBe(false);
    expect(await leases.giveBack(lease, 'going home')).toBe(true);
    expect((await plane.history(lease.id.name)).at(-1)).toMatchObject({
      type: 'WorkReturned',
      data: { number: 1n, reason: 'going home' },
    });
    expect(metadataOf((await plane.registry.events()).at(-1)!).actor).toBe('');
  });

  it('let the execution fail with an error, once', async () => {
    const lease = await leased();
    const error = create(ExecutionErrorSchema, { code: 'NoEngine', message: 'none can run it' });
    expect(await leases.fail(lease, 'a', error)).toBe(true);
    expect((await plane.history(lease.id.name)).at(-1)).toMatchObject({
      type: 'WorkflowPhaseReported',
      data: { phase: WORKFLOW.FAILED, producerId: 'a' },
    });
    const last = (await plane.registry.events()).at(-1)!;
    expect(Buffer.from(last.data).toString('latin1')).toContain('none can run it');
    expect(metadataOf(last).actor).toBe('');
    expect(await leases.fail(lease, 'a', create(ExecutionErrorSchema, { code: 'Another' }))).toBe(false);
  });

  it('are held by one session until they are given back, also while an abort is requested', async () => {
    const lease = await leased();
    expect(await leases.held(lease)).toEqual({ abort: undefined });
    expect(await leases.held({ ...lease, number: 2 })).toBeUndefined();
    expect(await leases.held({ ...lease, session: 'another' })).toBeUndefined();
    await plane.send('terminateExecution', { id: lease.id, cause: 'enough' });
    expect(await leases.held(lease)).toMatchObject({ abort: { cause: 'enough', principal: 'ada', timedOut: false } });
    await leases.giveBack(lease, '');
    expect(await leases.held(lease)).toBeUndefined();
    expect(await leases.held({ ...lease, id: await fresh() })).toBeUndefined();
  });

  it('have a launch with the workflow, the inputs and the times of the execution', async () => {
    const lease = await leased();
    const launch = await leases.launch(lease, MAX_BYTES);
    expect(launch).toMatchObject({
      workflowId: { name: 'hello.hello', version: 'v1' },
      launchPlanId: launchPlan,
      workflow: { case: 'closure', value: { primary: { template: { id: { name: 'hello.hello' } } } } },
      input: { case: 'inputs' },
    });
    expect(Object.keys(launch?.input.case === 'inputs' ? launch.input.value.literals : {})).toEqual(['name', 'times']);
    const [created] = (await plane.registry.events()).filter(({ stream }) => stream === executionStream(lease.id));
    const seconds = Math.floor(metadataOf(created!).recordedAtMs / 1_000);
    expect(launch).toMatchObject({
      createdAt: { seconds: BigInt(seconds) },
      deadline: { seconds: BigInt(seconds + 60) },
    });
    expect(launch).not.toHaveProperty('progress');
  });

  it('have no launch for a session that has lost its lease', async () => {
    const lease = await leased();
    expect(await leases.launch({ ...lease, session: 'another' }, MAX_BYTES)).toBeUndefined();
  });

  it('have no launch of an execution that has ended', async () => {
    const lease = await leased();
    await leases.fail(lease, 'a', create(ExecutionErrorSchema, { code: 'NoEngine' }));
    expect(await leases.held(lease)).toMatchObject({ ended: WORKFLOW.FAILED });
    expect(await leases.launch(lease, MAX_BYTES)).toBeUndefined();
  });

  it('have the launch of an execution that was created after 20 voided attempts', async () => {
    const id = { ...place, name: `e${randomUUID()}` };
    const { sessions, aggregate } = plane.services;
    for (let attempt = 0; attempt < 20; attempt += 1) {
      const voiding = { type: 'VoidExecution', id, attempt: `${attempt}` } as const;
      await sessions.handle(aggregate, executionStream(id), voiding, { actor: '', commandId: randomUUID() });
    }
    await plane.send('createExecution', { ...id, spec: { launchPlan } });
    await leases.lease(id, engine('a'), TERMS);
    expect((await types(id)).slice(19, 21)).toEqual(['ExecutionVoided', 'ExecutionCreated']);
    const lease = { id, number: 1, session: engine('a').session };
    expect(await leases.launch(lease, MAX_BYTES)).toMatchObject({ launchPlanId: launchPlan });
  });

  it('read a compiled workflow once for all its executions', async () => {
    const counting = opened();
    for (let round = 0; round < 3; round += 1) await counting.launch(await leased(), MAX_BYTES);
    expect(compiled).toBe(1);
    const other = {
      resourceType: ResourceType.LAUNCH_PLAN,
      ...place,
      name: 'launchplans.everything_fixed',
      version: 'v1',
    };
    const launch = await counting.launch(await leased(other), MAX_BYTES);
    expect(launch?.workflow.value).toMatchObject({
      primary: { template: { id: { name: expect.stringContaining('launchplans.') as string } } },
    });
    expect(compiled).toBe(2);
  });

  it('keep decoded workflows in a cache that is limited by their memory', async () => {
    const other = {
      resourceType: ResourceType.LAUNCH_PLAN,
      ...place,
      name: 'launchplans.everything_fixed',
      version: 'v1',
    };
    // Each takes three quarters of the cache once it is decoded, and a sixteenth of it encoded.
    const large = create(CompiledWorkflowClosureSchema, {
      primary: { template: { id: { name: 'x'.repeat(4 << 20) } } },
    });
    let reads = 0;
    const counting = opened({ compiledWorkflow: () => ((reads += 1), Promise.resolve(large)) });
    for (const plan of [launchPlan, launchPlan, other, launchPlan])
      await counting.launch(await leased(plan), MAX_BYTES);
    expect(reads).toBe(3); // the second launch is answered from the cache; the third evicts the first workflow
  });

  it('have an error instead of a launch when the execution or its workflow is missing', async () => {
    const lease = await leased();
    const without = opened({ compiledWorkflow: () => Promise.resolve(undefined) });
    await expect(without.launch(lease, MAX_BYTES)).rejects.toThrow('missing the compiled workflow');
    const nowhere = { ...lease, id: { ...place, name: 'nowhere' } };
    await expect(leases.launch(nowhere, MAX_BYTES)).rejects.toThrow('missing the creation of the execution');
  });

  it('have a launch without inputs for an execution that records none, and an error where it records no workflow', async () => {
    const id = { ...place, name: `e${randomUUID()}` };
    const { sessions, aggregate } = plane.services;
    const [creation] = await plane.history((await fresh()).name);
    if (creation?.type !== 'ExecutionCreated') throw new Error('the execution does not begin with its creation');
    const { inputs: _inputs, workflowId, ...rest } = creation.data;
    const record = (created: typeof creation.data, own = id) =>
      sessions.handle(
        aggregate,
        executionStream(own),
        { type: 'CreateExecution', id: own, created },
        { actor: '', commandId: randomUUID() },
      );
    await record({ ...rest, id: creation.data.id!, ...(workflowId && { workflowId }) });
    await leases.lease(id, engine('a'), TERMS);
    const lease = { id, number: 1, session: engine('a').session };
    expect((await leases.launch(lease, MAX_BYTES))?.input).toEqual({ case: 'inputs', value: create(LiteralMapSchema) });

    const bare = { ...place, name: `e${randomUUID()}` };
    await record(rest, bare);
    await leases.lease(bare, engine('a'), TERMS);
    await expect(leases.launch({ ...lease, id: bare }, MAX_BYTES)).rejects.toThrow('missing workflow_id');
  });
});
