import { fromBinary, type MessageShape } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import {
  CreateWorkflowFailureReasonSchema,
  WorkflowCreateRequestSchema,
} from '../../../proto/gen/platformidl/admin/workflow_pb.js';
import { ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import type { RpcError } from '../../../services/kernel/rpc.js';
import { workflowAggregate } from '../../../services/workflow/decider.js';
import { workflowStream } from '../../../services/workflow/events.js';
import { workflowRegistration } from '../../../services/workflow/registration/request.js';
import { fixtureFolder } from '../../support/requests/fixtures.js';
import { openRegistry, type Registry, type RegistryOptions } from '../../support/streams/registry.js';

type Request = MessageShape<typeof WorkflowCreateRequestSchema>;

/** A recorded workflow of three nodes, under another version. */
const workflow = (version: string, change: (request: Request) => void = () => undefined): Request => {
  const recorded = fixtureFolder('04-nested').entries.find(({ path }) => path.includes('006-workflow'));
  const request = fromBinary(WorkflowCreateRequestSchema, recorded!.bytes);
  request.id!.version = version;
  change(request);
  return request;
};

/** A registry in which the tasks of the workflow are registered. */
const open = async (options: RegistryOptions = {}): Promise<Registry> => {
  const registry = await openRegistry(options);
  for (const { kind, method, bytes } of fixtureFolder('04-nested').entries)
    if (kind === 'task') await registry.send(method, bytes);
  return registry;
};

const sendTo = (registry: Registry, request: Request): Promise<unknown> =>
  registry.ask('CreateWorkflow', WorkflowCreateRequestSchema, request);

const refusalOf = async (answer: Promise<unknown>): Promise<RpcError> =>
  (await answer.then(
    () => undefined,
    (error: unknown) => error,
  )) as RpcError;

describe('registrations of workflows', () => {
  let registry: Registry;
  beforeAll(async () => {
    registry = await open();
  });
  afterAll(() => registry.close());

  it('answer with the identifier that was registered', async () => {
    expect(await sendTo(registry, workflow('answered'))).toMatchObject({ id: workflow('answered').id! });
    expect(registry.answeredAt()).toBe(await registry.store.head());
  });

  it('are refused with control characters in the version', async () => {
    await expect(sendTo(registry, workflow('a\u001b[2Jb'))).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: 'invalid value for id.version: control characters are not allowed',
    });
  });

  it('of an earlier release still exist, also with a version that is refused now', async () => {
    const old = workflow('of a\u001brelease before');
    const id = { ...old.id!, resourceType: ResourceType.WORKFLOW } as const;
    const unlimited = { nodes: 0, closureBytes: 0 };
    const command = await workflowRegistration(id, old, registry.definitions, unlimited);
    await registry.sessions.handle(workflowAggregate, workflowStream(id), command, { actor: 'ada', commandId: 'b' });
    expect(await refusalOf(sendTo(registry, old))).toMatchObject({ code: 'ALREADY_EXISTS' });
  });

  it('are read back compiled, under the id of the request', async () => {
    const request = workflow('read', ({ spec }) => (spec!.template!.id!.name = 'something else'));
    await sendTo(registry, request);
    const closure = await registry.definitions.compiledWorkflow(request.id!);
    const template = closure!.primary!.template!;
    expect(template.id!.name).toBe(request.id!.name);
    expect(template.nodes.map(({ id }) => id).slice(0, 2)).toEqual(['start-node', 'end-node']);
    const known = await registry.definitions.workflow(request.id!);
    expect(known!.interface).toEqual(template.interface);
  });

  it('are refused as identical when repeated, with the id in the details of the error', async () => {
    const request = workflow('repeated');
    await sendTo(registry, request);
    for (const attempt of [1, 2, 3]) {
      const refusal = await refusalOf(sendTo(registry, request));
      expect([refusal.code, refusal.message], `attempt ${attempt}`).toEqual([
        'ALREADY_EXISTS',
        expect.stringMatching(/^workflow with identical structure already exists: [^:]+:[^:]+:[^:]+:[^:]+$/u),
      ]);
      expect(refusal.details).toMatchObject([
        {
          schema: CreateWorkflowFailureReasonSchema,
          message: { reason: { case: 'existsIdenticalStructure', value: { id: { version: 'repeated' } } } },
        },
      ]);
    }
  });

  it('are refused at the position of the registered one, also when the refusal is cached', async () => {
    await sendTo(registry, workflow('placed'));
    const registeredAt = registry.answeredAt();
    for (const attempt of [1, 2]) {
      await sendTo(registry, workflow(`beside-${attempt}`));
      await refusalOf(sendTo(registry, workflow('placed')));
      expect(registry.answeredAt(), `attempt ${attempt}`).toBe(registeredAt);
    }
  });

  it('are refused as different when a node differs from the registered one', async () => {
    await sendTo(registry, workflow('differs'));
    const other = workflow('differs', ({ spec }) => (spec!.template!.nodes[0]!.metadata!.name = 'another name'));
    for (const _attempt of [1, 2]) {
      const refusal = await refusalOf(sendTo(registry, other));
      expect(refusal.code).toBe('ALREADY_EXISTS');
      expect(refusal.details).toMatchObject([{ message: { reason: { case: 'existsDifferentStructure' } } }]);
    }
  });

  it('that did not compile because tasks were missing do so once these are registered', async () => {
    const empty = await openRegistry();
    const request = workflow('late');
    const refusal = await refusalOf(sendTo(empty, request));
    expect([refusal.code, refusal.message]).toEqual([
      'INVALID_ARGUMENT',
      expect.stringMatching(/^failed to compile workflow for \[.*\] with err: Collected Errors: \d/u),
    ]);
    for (const { kind, method, bytes } of fixtureFolder('04-nested').entries)
      if (kind === 'task') await empty.send(method, bytes);
    await sendTo(empty, request);
    await empty.close();
  });

  it('are refused with more nodes or more bytes than the configuration allows', async () => {
    const { length } = workflow('any').spec!.template!.nodes;
    const few = await open({ workflowLimits: { nodes: length - 1, closureBytes: 0 } });
    expect(await refusalOf(sendTo(few, workflow('any')))).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining(`exceeds limit (${length} > ${length - 1})`) as string,
    });
    await few.close();
    const small = await open({ workflowLimits: { nodes: length, closureBytes: 100 } });
    expect(await refusalOf(sendTo(small, workflow('any')))).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('exceeds max limit [100]') as string,
    });
    await small.close();
  });
});
