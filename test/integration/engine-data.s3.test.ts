import { PutObjectCommand } from '@aws-sdk/client-s3';
import { create, toBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  NodeExecution_Phase as NodePhase,
  TaskExecution_Phase as TaskPhase,
  WorkflowExecution_Phase as Phase,
} from '../../proto/gen/platformidl/core/execution_pb.js';
import { LiteralMapSchema } from '../../proto/gen/platformidl/core/literals_pb.js';
import { HistoryService } from '../../proto/gen/platformidl/eventlog/history_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { DataProxyService } from '../../proto/gen/platformidl/service/dataproxy_pb.js';
import { s3Client } from '../../services/store/s3-client.js';
import { type ControlPlane, register, startControlPlane } from '../support/processes/control-plane.js';
import { withNeeds } from '../support/requests/fixtures.js';
import { launchHello, literal } from '../support/requests/hello.js';
import { HELLO_TASK, nodeReport, taskReport, workflowReport } from '../support/requests/reports.js';
import { makeBucket, newS3Location, s3Setting, s3Url } from '../support/servers/s3-server.js';

const { method } = AdminService;
/** The largest object that the control plane reads: the largest message that it is configured for. */
const MAX_BYTES = 100_000;

/** Literals with one value, named `o0`. */
const mapOf = (value: string) => create(LiteralMapSchema, { literals: { o0: literal(value) } });

describe.skipIf(s3Url === undefined)('inputs and outputs that an engine has stored in a bucket', () => {
  const location = newS3Location();
  const client = s3Client(location);
  let plane: ControlPlane;

  /** Stores an object, and returns its address. */
  const stored = async (name: string, bytes: Uint8Array): Promise<string> => {
    const Key = `${location.prefix}${name}`;
    await client.send(new PutObjectCommand({ Bucket: location.bucket, Key, Body: bytes }));
    return `s3://${location.bucket}/${Key}`;
  };
  /** Stores literals with the name of the object as their value. */
  const storedMap = (name: string): Promise<string> => stored(name, toBinary(LiteralMapSchema, mapOf(name)));

  /** Launches an execution; reports where the inputs of its node and task are, and the outputs of all three. */
  const reported = async (name: string, { inputs, outputs }: { readonly inputs: string; readonly outputs: string }) => {
    const { grpc } = plane;
    const id = await launchHello(grpc, name);
    const inputValue = { case: 'inputUri', value: inputs } as const;
    const outputResult = { case: 'outputUri', value: outputs } as const;
    await grpc.call(method.createWorkflowEvent, workflowReport(id, { phase: Phase.RUNNING }));
    await grpc.call(method.createNodeEvent, nodeReport(id, 'n0', { phase: NodePhase.RUNNING, inputValue }));
    await grpc.call(method.createTaskEvent, taskReport(id, 'n0', { phase: TaskPhase.RUNNING, inputValue }));
    await grpc.call(method.createTaskEvent, taskReport(id, 'n0', { phase: TaskPhase.SUCCEEDED, outputResult }));
    await grpc.call(method.createNodeEvent, nodeReport(id, 'n0', { phase: NodePhase.SUCCEEDED, outputResult }));
    await grpc.call(method.createWorkflowEvent, workflowReport(id, { phase: Phase.SUCCEEDED, outputResult }));
    return { id, node: { executionId: id, nodeId: 'n0' } };
  };

  beforeAll(async () => {
    await makeBucket();
    plane = await startControlPlane({
      FLIGHTLOG_DATA_PROXY_ENGINE_STORES: JSON.stringify([s3Setting(location)]),
      FLIGHTLOG_MAX_MESSAGE_BYTES: String(MAX_BYTES),
    });
    await register(plane.grpc, withNeeds('01-hello'));
    await reported('other', { inputs: await storedMap('inputs'), outputs: await storedMap('outputs') });
  });
  afterAll(async () => {
    client.destroy();
    await plane.close();
  });

  it('are in the data of the execution, the node and the task, and in those of the node as of a moment', async () => {
    const [inputs, outputs] = [await storedMap('inputs'), await storedMap('outputs')];
    const { id, node } = await reported('stored', { inputs, outputs });
    const all = { fullInputs: mapOf('inputs'), fullOutputs: mapOf('outputs') };
    for (const transport of [plane.grpc, plane.rest]) {
      expect((await transport.call(method.getExecutionData, { id })).fullOutputs).toEqual(all.fullOutputs);
      expect(await transport.call(method.getNodeExecutionData, { id: node })).toMatchObject(all);
      const task = { taskId: HELLO_TASK, nodeExecutionId: node, retryAttempt: 0 };
      expect(await transport.call(method.getTaskExecutionData, { id: task })).toMatchObject(all);
    }
    const asOf = new Date().toISOString();
    expect(await plane.grpc.call(method.getNodeExecutionData, { id: node, asOf })).toMatchObject(all);
    const { project, domain, name } = id;
    const flyteUrl = `flyte://v1/${project}/${domain}/${name}/n0/o`;
    const { data } = await plane.grpc.call(DataProxyService.method.getData, { flyteUrl });
    expect(data).toEqual({ case: 'literalMap', value: all.fullOutputs });
  });

  it('are left out when they are outside the stores of engines, and the closure names the outputs', async () => {
    const outside = `s3://${location.bucket}/elsewhere/outputs`;
    await client.send(
      new PutObjectCommand({
        Bucket: location.bucket,
        Key: 'elsewhere/outputs',
        Body: toBinary(LiteralMapSchema, mapOf('x')),
      }),
    );
    const { id, node } = await reported('elsewhere', { inputs: 'gs://other/inputs', outputs: outside });
    const data = await plane.grpc.call(method.getExecutionData, { id });
    expect(data.fullOutputs).toBeUndefined();
    const ofNode = await plane.grpc.call(method.getNodeExecutionData, { id: node });
    expect([ofNode.fullInputs, ofNode.fullOutputs]).toEqual([undefined, undefined]);
    const { closure } = await plane.grpc.call(method.getExecution, { id });
    expect(closure?.outputResult).toMatchObject({ case: 'outputs', value: { data: { value: outside } } });
  });

  it.each([
    ['is missing', () => Promise.resolve(`s3://${location.bucket}/${location.prefix}gone`)],
    ['is too large', () => stored('large', Buffer.alloc(MAX_BYTES + 1))],
    ['is no map of literals', () => stored('damaged', Buffer.from('no protobuf'))],
  ])(
    'are left out when the object %s, cannot be fetched alone, and do not make a comparison fail',
    async (what, addressOf) => {
      const address = await addressOf();
      const { id, node } = await reported(what.replaceAll(' ', '-'), { inputs: address, outputs: address });
      const data = await plane.grpc.call(method.getNodeExecutionData, { id: node });
      expect([data.fullInputs, data.fullOutputs]).toEqual([undefined, undefined]);
      const flyteUrl = `flyte://v1/${id.project}/${id.domain}/${id.name}/n0/o`;
      const refused = await plane.grpc.attempt(DataProxyService.method.getData, { flyteUrl });
      expect(refused).toMatchObject({ code: 'FAILED_PRECONDITION' });
      const diff = await plane.grpc.attempt(HistoryService.method.diff, { id, otherName: 'other' });
      expect(diff).toMatchObject({ code: 'OK' });
    },
  );
});
