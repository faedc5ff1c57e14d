import { fromBinary, fromJson, type MessageShape } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import {
  LaunchPlanCreateRequestSchema,
  LaunchPlanMetadataSchema,
  LaunchPlanState as State,
  LaunchPlanUpdateRequestSchema,
} from '../../../proto/gen/platformidl/admin/launch_plan_pb.js';
import { ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { launchPlanAggregate } from '../../../services/launch-plan/decider.js';
import { launchPlanCodec, launchPlanStream } from '../../../services/launch-plan/events.js';
import { launchPlanRegistration } from '../../../services/launch-plan/registration/request.js';
import { fixtureFolder } from '../../support/requests/fixtures.js';
import { openRegistry, type Registry } from '../../support/streams/registry.js';

type Request = MessageShape<typeof LaunchPlanCreateRequestSchema>;

/** The recorded launch plan of the hello workflow, under another version. */
const plan = (version: string, change: (request: Request) => void = () => undefined): Request => {
  const recorded = fixtureFolder('01-hello').entries.find(({ kind }) => kind === 'launch_plan');
  const request = fromBinary(LaunchPlanCreateRequestSchema, recorded!.bytes);
  request.id!.version = version;
  change(request);
  return request;
};

describe('launch plans over the interface', () => {
  let registry: Registry;
  beforeAll(async () => {
    registry = await openRegistry();
    for (const { kind, method, bytes } of fixtureFolder('01-hello').entries)
      if (kind === 'task' || kind === 'workflow') await registry.send(method, bytes);
    for (const version of ['a', 'b']) await send(plan(version));
  });
  afterAll(() => registry.close());

  const send = (request: Request): Promise<unknown> =>
    registry.ask('CreateLaunchPlan', LaunchPlanCreateRequestSchema, request);
  const update = (version: string, state: State, resourceType = ResourceType.UNSPECIFIED): Promise<unknown> => {
    const id = { ...plan(version).id!, resourceType };
    return registry.ask('UpdateLaunchPlan', LaunchPlanUpdateRequestSchema, { id, state });
  };
  const active = async (): Promise<string | undefined> =>
    (await registry.definitions.activeLaunchPlan(plan('a').id!))?.id.version;

  it('are inactive until they are activated, and one version is active at most', async () => {
    expect(await active()).toBeUndefined();
    await update('a', State.ACTIVE);
    expect(await active()).toBe('a');
    await update('b', State.ACTIVE, ResourceType.LAUNCH_PLAN);
    expect(await active()).toBe('b');
    await update('b', State.INACTIVE);
    expect(await active()).toBeUndefined();
  });

  it('have one active version after 20 concurrent activations', async () => {
    const before = (await registry.events()).length;
    await Promise.all(Array.from({ length: 20 }, (_, index) => update(index % 2 ? 'a' : 'b', State.ACTIVE)));
    const chain = (await registry.events())
      .slice(before)
      .map(({ type, data }) => launchPlanCodec.decode(type, data, 1).data);
    const activated = chain.map(({ id }) => id?.version);
    expect(activated.length).toBeGreaterThan(1);
    expect(activated.at(-1)).toBe(await active());
    /** The version that each activation deactivated. */
    const deactivated = chain.map((data) => ('deactivatedVersion' in data ? data.deactivatedVersion : undefined));
    expect(deactivated.slice(1)).toEqual(activated.slice(0, -1));
  });

  it('refuse a wrong update with a text that names the mistake', async () => {
    await expect(update('unknown', State.ACTIVE)).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: expect.stringContaining('missing entity of type LAUNCH_PLAN') as string,
    });
    await expect(update('unknown', State.INACTIVE)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(update('a', 7 as never)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: 'Unrecognized launch plan state 7',
    });
    await expect(update('a', State.ACTIVE, ResourceType.TASK)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('resource type') as string,
    });
    await expect(update('', State.ACTIVE)).rejects.toMatchObject({ message: 'missing version' });
  });

  it('are refused with a control character in the version, which an update may have', async () => {
    await expect(send(plan('a\u202e1v'))).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: 'invalid value for id.version: control characters are not allowed',
    });
    // Earlier releases registered such versions, so an update may name one.
    await expect(update('a\u202e1v', State.ACTIVE)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('of an earlier release exist, also with a version that is refused now', async () => {
    const old = plan('a\u202e0v');
    const id = { ...old.id!, resourceType: ResourceType.LAUNCH_PLAN } as const;
    const workflow = await registry.definitions.workflow(old.spec!.workflowId!);
    const command = launchPlanRegistration(id, old, {
      ...workflow!,
      id: { ...old.spec!.workflowId!, resourceType: ResourceType.WORKFLOW },
    });
    await registry.sessions.handle(launchPlanAggregate, launchPlanStream(id), command, {
      actor: 'ada',
      commandId: 'before',
    });
    await expect(send(old)).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
  });

  it('are stored with the inputs that an execution expects, and with the outputs of their workflow', async () => {
    const known = await registry.definitions.launchPlan(plan('a').id!);
    const workflow = await registry.definitions.workflow(known!.spec.workflowId!);
    const inputs = Object.keys(workflow!.interface!.inputs!.variables).sort();
    expect(Object.keys(known!.expectedInputs.parameters)).toEqual(inputs);
    expect(known!.spec.defaultInputs).toEqual(known!.expectedInputs);
    expect(known!.expectedOutputs).toEqual(workflow!.interface!.outputs);
  });

  it('have their schedule recorded with the activation, unless its rate is 0', async () => {
    const scheduled = (version: string, value: number): Request =>
      plan(version, ({ spec }) => {
        const schedule = { rate: { value, unit: 'HOUR' } };
        spec!.entityMetadata = fromJson(LaunchPlanMetadataSchema, { schedule });
        for (const parameter of Object.values(spec!.defaultInputs?.parameters ?? {}))
          expect(parameter.behavior.case).toBe('default');
      });
    for (const [version, value] of [
      ['timed', 1],
      ['never', 0],
    ] as const) {
      await send(scheduled(version, value));
      await update(version, State.ACTIVE);
      const last = (await registry.events()).at(-1)!;
      const { data } = launchPlanCodec.decode(last.type, last.data, 1);
      expect('schedule' in data && data.schedule !== undefined).toBe(value > 0);
    }
  });
});
