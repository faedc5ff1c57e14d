import { fromBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import {
  ExecutionMetadata_ExecutionMode as Mode,
  ExecutionState,
} from '../../../proto/gen/platformidl/admin/execution_pb.js';
import {
  NodeExecution_Phase as NodePhase,
  WorkflowExecution_Phase as Phase,
} from '../../../proto/gen/platformidl/core/execution_pb.js';
import { ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { LiteralMapSchema } from '../../../proto/gen/platformidl/core/literals_pb.js';
import type { ExecutionCreated } from '../../../proto/gen/platformidl/eventlog/execution_pb.js';
import { bytesOf } from '../../../services/kernel/ports/payload-store.js';
import { fixtureFolder, invalidEntries } from '../../support/requests/fixtures.js';
import { type ControlPlane, openControlPlane } from './control-plane.js';

const FOLDERS = ['01-hello', '02-diamond', '05-launch-plans', '10-schedules'];
const place = { project: 'flytesnacks', domain: 'development' };
const helloId = { resourceType: ResourceType.LAUNCH_PLAN, ...place, name: 'hello.hello', version: 'v1' };

let plane: ControlPlane;
beforeAll(async () => {
  plane = await openControlPlane(FOLDERS);
});
afterAll(() => plane.close());

/** The event that created an execution. */
const created = async (name: string): Promise<ExecutionCreated> => {
  const [first] = await plane.history(name);
  if (first?.type !== 'ExecutionCreated') throw new Error(`${name} does not begin with its creation`);
  return first.data;
};

/** The names of the recorded inputs of an execution. */
const inputs = async (name: string): Promise<readonly string[]> => {
  const { inputs: content } = await created(name);
  const bytes = await bytesOf(content!, undefined as never);
  return Object.keys(fromBinary(LiteralMapSchema, bytes).literals);
};

/** The id of the launch plan in the fixture `01-hello`. */
const helloPlan = (): typeof helloId => {
  const entry = fixtureFolder('01-hello').entries.find(({ kind }) => kind === 'launch_plan')!;
  return { ...helloId, name: entry.id.name!, version: entry.id.version! };
};

/** Launches the launch plan of `01-hello`, for a principal. */
const launch = (name: string, spec: object = {}, principal?: string) =>
  plane.send('createExecution', { ...place, name, spec: { launchPlan: helloPlan(), ...spec } as never }, principal);

describe('CreateExecution', () => {
  it.each(FOLDERS.flatMap((folder) => fixtureFolder(folder).entries.filter(({ kind }) => kind === 'execution')))(
    'accepts $path',
    async ({ method, bytes, id }) => {
      const answer = (await plane.sendBytes(method, bytes)) as {
        id: { project: string; domain: string; name: string };
      };
      expect(answer.id).toMatchObject({ ...place, ...(id.name !== undefined && { name: id.name }) });
      expect(answer.id.name).toMatch(/^[a-z][a-z\-0-9]*$/);
      const { workflowId, launchPlanId, taskId } = await created(answer.id.name);
      expect(workflowId?.resourceType).toBe(ResourceType.WORKFLOW);
      expect([launchPlanId, taskId].filter((each) => each !== undefined)).toHaveLength(1);
    },
  );

  const invalid = invalidEntries().filter(
    ({ method, needs, name }) =>
      method === 'CreateExecution' && FOLDERS.includes(needs) && !/truncated|deep-literal|name-exists/.test(name),
  );

  it.each(invalid)('refuses $name and records nothing', async ({ method, bytes, expect: code, textNames }) => {
    const before = (await plane.registry.events()).length;
    const error = await plane.error(plane.sendBytes(method, bytes));
    expect(error.code).toBe(code);
    expect(error.message).toContain(textNames);
    expect(await plane.registry.events()).toHaveLength(before);
  });

  it('of a name that exists is refused, whatever the content', async () => {
    await launch('taken');
    expect(await plane.error(launch('taken'))).toMatchObject({ code: 'ALREADY_EXISTS' });
    expect(await plane.error(launch('taken', { maxParallelism: 3 }))).toMatchObject({ code: 'ALREADY_EXISTS' });
    expect(await plane.history('taken')).toHaveLength(1);
  });

  it('without a name gives one of 20 characters', async () => {
    const { id } = await launch('');
    expect(id?.name).toMatch(/^a[bcdfghjklmnpqrstvwxz2456789]{19}$/);
  });

  it('records the inputs with their defaults, and the given inputs apart', async () => {
    await launch('with-defaults');
    expect(await inputs('with-defaults')).toEqual(['name', 'times']);
    const { userInputs } = await created('with-defaults');
    expect(userInputs?.content.value).toHaveLength(0);
  });

  it('takes the inputs of the spec when the request has none', async () => {
    const literal = {
      value: {
        case: 'scalar',
        value: { value: { case: 'primitive', value: { value: { case: 'integer', value: 2n } } } },
      },
    };
    await launch('old-inputs', { inputs: { literals: { times: literal } } });
    const { spec, userInputs } = await created('old-inputs');
    expect(Object.keys(spec!.inputs!.literals)).toEqual(['times']);
    const given = fromBinary(LiteralMapSchema, await bytesOf(userInputs!, undefined as never));
    expect(Object.keys(given.literals)).toEqual(['times']);
  });

  it('records the caller as principal, and the namespace, whatever the client sends', async () => {
    await launch(
      'claimed',
      { metadata: { principal: 'somebody', mode: Mode.CHILD_WORKFLOW, artifactIds: [{ version: '1' }] } },
      'grace',
    );
    const { spec } = await created('claimed');
    expect(spec?.metadata).toMatchObject({
      principal: 'grace',
      mode: Mode.CHILD_WORKFLOW,
      artifactIds: [],
      systemMetadata: { executionCluster: '', namespace: 'flytesnacks-development' },
    });
    expect(spec?.securityContext?.runAs?.executionIdentity).toBe('grace');
    expect(spec?.maxParallelism).toBe(25);
  });

  it('records that it has read the streams of the project and the launch plan', async () => {
    await launch('launched');
    const { read } = await created('launched');
    expect(read.map(({ stream }) => stream.split('-')[0])).toEqual(['project', 'launchPlan']);
  });

  it('takes the notifications of the request, and none when it disables them', async () => {
    const rule = { phases: [Phase.SUCCEEDED], type: { case: 'email', value: { recipientsEmail: ['a@example.org'] } } };
    await launch('notifying', { notificationOverrides: { case: 'notifications', value: { notifications: [rule] } } });
    expect((await created('notifying')).notifications).toHaveLength(1);
    await launch('silent', { notificationOverrides: { case: 'disableAll', value: true } });
    expect((await created('silent')).notifications).toHaveLength(0);
  });

  it('refuses notifications without a type or recipients, or of a phase before the end', async () => {
    const launchWith = (rule: object) =>
      launch('invalid-rule', { notificationOverrides: { case: 'notifications', value: { notifications: [rule] } } });
    const email = (...recipientsEmail: string[]) => ({ case: 'email', value: { recipientsEmail } });
    expect(await plane.error(launchWith({ phases: [Phase.SUCCEEDED] }))).toMatchObject({
      message: 'invalid value for notification type: it is none of email, pager_duty, slack',
    });
    expect(await plane.error(launchWith({ phases: [Phase.SUCCEEDED], type: email() }))).toMatchObject({
      message: 'missing recipients',
    });
    expect(await plane.error(launchWith({ phases: [Phase.RUNNING], type: email('a') }))).toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  });
});

describe('a child execution', () => {
  /** The spec of an execution that a node of the execution `name` launches. */
  const parent = (name: string, nodeId = 'n0') => ({
    metadata: { mode: Mode.CHILD_WORKFLOW, parentNodeExecution: { nodeId, executionId: { ...place, name } } },
  });

  /** Reports that the node of a parent runs. */
  const runNode = (name: string) =>
    plane.send('createNodeEvent', {
      event: {
        id: { nodeId: 'n0', executionId: { ...place, name } },
        phase: NodePhase.RUNNING,
        occurredAt: { seconds: 1n },
      } as never,
    });

  it('has the principal and cluster label of the execution that launches it, and is nested one level deeper', async () => {
    await launch('parent', { executionClusterLabel: { value: 'gpu' } }, 'grace');
    await runNode('parent');
    await launch('child', parent('parent'), 'engine');
    const { spec } = await created('child');
    expect(spec?.metadata).toMatchObject({ principal: 'grace', nesting: 1 });
    expect(spec?.executionClusterLabel?.value).toBe('gpu');
  });

  it('does not get the labels and annotations that a bridge has set on the object of its parent', async () => {
    // As many labels as an execution may have, without those of the bridge.
    const own = Object.fromEntries(Array.from({ length: 16 }, (_, at) => [`own-${at}`, 'a']));
    await launch('bridged', {});
    await runNode('bridged');
    const values = { ...own, 'flightlog.io/bridge': 'flightlog', 'flightlog.io/launch-id': '1' };
    await launch('bridged-child', { ...parent('bridged'), labels: { values }, annotations: { values } });
    const { spec } = await created('bridged-child');
    expect([spec?.labels?.values, spec?.annotations?.values]).toEqual([own, own]);
  });

  it('is refused unless its parent has the node that launches it', async () => {
    await launch('lonely');
    expect(await plane.error(launch('orphan', parent('lonely')))).toMatchObject({ code: 'NOT_FOUND' });
    expect(await plane.error(launch('orphan', parent('nowhere')))).toMatchObject({ code: 'NOT_FOUND' });
    expect(await plane.history('orphan')).toHaveLength(0);
  });
});

/** Reports that an execution is in a phase. */
const reportPhase = (name: string, phase: Phase) =>
  plane.send('createWorkflowEvent', {
    event: { executionId: { ...place, name }, phase, occurredAt: { seconds: 1n } } as never,
  });

describe('RelaunchExecution', () => {
  it('launches the same version with the same inputs, but does not overwrite the cache', async () => {
    await launch('first', { overwriteCache: true, maxParallelism: 3 });
    const { id } = await plane.send('relaunchExecution', { id: { ...place, name: 'first' } as never, name: 'second' });
    expect(id?.name).toBe('second');
    const [one, two] = [await created('first'), await created('second')];
    expect(two.spec).toMatchObject({
      maxParallelism: 3,
      overwriteCache: false,
      metadata: { mode: Mode.RELAUNCH, referenceExecution: { name: 'first' } },
    });
    expect(two.inputs).toEqual(one.inputs);
    expect(two.launchPlanId).toEqual(one.launchPlanId);
  });

  it('is refused for an unknown execution, and for an incomplete id', async () => {
    const relaunch = (id?: object) => plane.error(plane.send('relaunchExecution', { id: id as never }));
    expect(await relaunch({ ...place, name: 'nowhere' })).toMatchObject({ code: 'NOT_FOUND' });
    expect(await relaunch()).toMatchObject({ code: 'INVALID_ARGUMENT', message: 'missing id' });
    expect(await relaunch(place)).toMatchObject({ code: 'INVALID_ARGUMENT', message: 'missing name' });
  });
});

describe('RecoverExecution', () => {
  it.each(['FAILED', 'ABORTED', 'TIMED_OUT'] as const)('accepts an execution that has ended %s', async (phase) => {
    const name = `ended-${Phase[phase]}`;
    await launch(name, { overwriteCache: true });
    await reportPhase(name, Phase[phase]);
    await plane.send('recoverExecution', { id: { ...place, name } as never, name: `again-${name}` });
    expect((await created(`again-${name}`)).spec).toMatchObject({
      overwriteCache: true,
      metadata: { mode: Mode.RECOVERED, referenceExecution: { name } },
    });
  });

  it.each(['QUEUED', 'RUNNING', 'SUCCEEDING', 'SUCCEEDED', 'FAILING', 'ABORTING'] as const)(
    'refuses an execution that is %s',
    async (phase) => {
      const name = `not-recoverable-${Phase[phase]}`;
      await launch(name);
      await reportPhase(name, Phase[phase]);
      const error = await plane.error(plane.send('recoverExecution', { id: { ...place, name } as never }));
      expect(error.code).toBe('FAILED_PRECONDITION');
    },
  );

  it('is refused for an unknown execution', async () => {
    const error = await plane.error(plane.send('recoverExecution', { id: { ...place, name: 'nowhere' } as never }));
    expect(error.code).toBe('NOT_FOUND');
  });
});

describe('TerminateExecution and UpdateExecution', () => {
  it('record each change once', async () => {
    await launch('changed');
    const id = { ...place, name: 'changed' } as never;
    const archived = ExecutionState.EXECUTION_ARCHIVED;
    await plane.send('updateExecution', { id, state: archived, tags: { values: ['a', 'b'] } as never });
    await plane.send('updateExecution', { id, state: archived, tags: { values: ['a', 'b'] } as never });
    await plane.send('updateExecution', { id, state: archived });
    await plane.send('terminateExecution', { id, cause: 'enough' });
    await plane.send('terminateExecution', { id, cause: 'enough' });
    const types = (await plane.history('changed')).map(({ type }) => type);
    expect(types).toEqual(['ExecutionCreated', 'ExecutionStateChanged', 'ExecutionTagged', 'TerminationRequested']);
  });

  it('are refused for an unknown execution, without an id, with a long cause, and for an unknown state', async () => {
    const nowhere = { ...place, name: 'nowhere' } as never;
    await launch('stays');
    const id = { ...place, name: 'stays' } as never;
    const codes = [
      plane.send('terminateExecution', { id: nowhere }),
      plane.send('terminateExecution', {}),
      plane.send('terminateExecution', { id, cause: 'x'.repeat(32_001) }), // one character more than a cause may have
      plane.send('updateExecution', { id: nowhere }),
      plane.send('updateExecution', {}),
      plane.send('updateExecution', { id, state: 7 as never /* no state */ }),
    ].map(async (answer) => (await plane.error(answer)).code);
    const wrong = 'INVALID_ARGUMENT';
    expect(await Promise.all(codes)).toEqual(['NOT_FOUND', wrong, wrong, 'NOT_FOUND', wrong, wrong]);
  });
});

it('TerminateExecution and CreateWorkflowEvent name the terminal phase in a detail of their error', async () => {
  await launch('over');
  await reportPhase('over', Phase.SUCCEEDED);
  const id = { ...place, name: 'over' } as never;
  expect(await plane.error(plane.send('terminateExecution', { id }))).toMatchObject({
    code: 'FAILED_PRECONDITION',
    details: [{ message: { reason: { case: 'alreadyInTerminalState', value: { currentPhase: 'SUCCEEDED' } } } }],
  });
  expect(await plane.error(reportPhase('over', Phase.FAILED))).toMatchObject({
    code: 'FAILED_PRECONDITION',
    details: [{ message: { reason: { case: 'alreadyInTerminalState', value: { currentPhase: 'SUCCEEDED' } } } }],
  });
});
