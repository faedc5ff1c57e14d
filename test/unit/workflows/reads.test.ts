import { create, toBinary } from '@bufbuild/protobuf';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { workflowsRoutes } from '../../../projections/workflows/rpc.js';
import { CompiledWorkflowClosureSchema } from '../../../proto/gen/platformidl/core/compiler_pb.js';
import { ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { WorkflowRegisteredSchema } from '../../../proto/gen/platformidl/eventlog/workflow_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { workflowCodec, workflowStream } from '../../../services/workflow/events.js';
import { openReads, recordedAtMs } from '../../support/views/run-views.js';

const { method } = AdminService;
const scope = { project: 'flytesnacks', domain: 'development' };
const typedInterface = { inputs: { variables: { day: { description: 'a day' } } } };

const closureOf = (version: string) =>
  create(CompiledWorkflowClosureSchema, {
    primary: {
      template: { id: { ...scope, name: 'hello', version }, interface: typedInterface, nodes: [{ id: 'n0' }] },
    },
  });

const registered = (version: string, index: number) => {
  const id = { resourceType: ResourceType.WORKFLOW, ...scope, name: 'hello', version };
  const value = toBinary(CompiledWorkflowClosureSchema, closureOf(version));
  const data = create(WorkflowRegisteredSchema, {
    id,
    compiled: { content: { case: 'inline', value } },
    interface: typedInterface,
    description: { shortDescription: `the ${version}` },
  });
  return {
    id: new Uint8Array(16),
    ...workflowCodec.encode({ type: 'WorkflowRegistered', data }),
    metadata: '{}',
    stream: workflowStream(id),
    revision: 0n,
    position: BigInt(index + 1),
  };
};

describe('reads of workflows', () => {
  let reads: Awaited<ReturnType<typeof openReads>>;
  beforeAll(async () => {
    reads = await openReads(['v1', 'v2'].map(registered), workflowsRoutes);
  });
  afterAll(() => reads.close());

  it('answer a version with all that was compiled', async () => {
    const id = { ...scope, name: 'hello', version: 'v1' };
    const workflow = await reads.ask(method.getWorkflow, { id });
    expect(workflow).toMatchObject({ id: { ...id, resourceType: ResourceType.WORKFLOW }, shortDescription: 'the v1' });
    expect(workflow.closure!.compiledWorkflow).toEqual(closureOf('v1'));
    expect(timestampMs(workflow.closure!.createdAt!)).toBe(recordedAtMs(1n));
  });

  it('list the interface and the time of registration, and nothing else of the closure', async () => {
    const { workflows } = await reads.ask(method.listWorkflows, { id: scope });
    expect(workflows.map(({ id }) => id!.version)).toEqual(['v2', 'v1']);
    const { template } = workflows[0]!.closure!.compiledWorkflow!.primary!;
    expect(template).toMatchObject({ interface: typedInterface, nodes: [] });
    expect(template!.id).toBeUndefined();
    expect(timestampMs(workflows[0]!.closure!.createdAt!)).toBe(recordedAtMs(2n));
  });

  it('list every name once', async () => {
    const { entities } = await reads.ask(method.listWorkflowIds, scope);
    expect(entities).toMatchObject([{ ...scope, name: 'hello' }]);
  });

  it('fail with an error that names the missing entity or the missing field', async () => {
    const id = { ...scope, name: 'hello', version: 'v3' };
    await expect(reads.ask(method.getWorkflow, { id })).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: expect.stringMatching('missing entity of type WORKFLOW') as string,
    });
    const incomplete = reads.ask(method.getWorkflow, { id: { ...id, version: '' } });
    await expect(incomplete).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', message: 'missing version' });
  });
});
