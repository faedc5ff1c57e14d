import { fromBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import {
  ExecutionCreateRequestSchema,
  ExecutionCreateResponseSchema,
} from '../../proto/gen/platformidl/admin/execution_pb.js';
import { WorkflowExecution_Phase as Phase } from '../../proto/gen/platformidl/core/execution_pb.js';
import { ResourceType } from '../../proto/gen/platformidl/core/identifier_pb.js';
import type { BranchNode } from '../../proto/gen/platformidl/core/workflow_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import type { EngineSummary } from '../../engine/options.js';
import { type ControlPlane, startControlPlane } from '../support/processes/control-plane.js';
import { againEntries, type FixtureEntry, type FixtureFolder, fixtureFolders } from '../support/requests/fixtures.js';
import { nodesOf } from '../support/clients/lists.js';
import type { Answer, Transport } from '../support/clients/transports.js';
import { shapeOf } from '../support/requests/workflow-shape.js';

const { method } = AdminService;

const isUpload = ({ kind }: FixtureEntry): boolean => kind === 'upload_location';
const isExecution = ({ kind }: FixtureEntry): boolean => kind === 'execution';
const isUpdate = ({ kind }: FixtureEntry): boolean => kind === 'launch_plan_update';

const folders = fixtureFolders();
const sent = folders.flatMap(({ entries }) => entries);
const workflows = sent.filter(({ kind }) => kind === 'workflow');
const executions = sent.filter(isExecution);

/** A folder with a title that counts its requests. */
const titledByCounts = ({ name, entries }: FixtureFolder): [title: string, entries: readonly FixtureEntry[]] => {
  const launches = entries.filter(isExecution).length;
  const uploads = entries.filter(isUpload).length;
  const updates = entries.filter(isUpdate).length;
  const registers = entries.length - launches - uploads - updates;
  const counts = `${registers} registrations, ${updates} updates, ${launches} launches, ${uploads} uploads`;
  return [`${name} (${counts})`, entries];
};

const titled = (entry: FixtureEntry): [title: string, entry: FixtureEntry] => [entry.path, entry];

/**
 * A seed of the simulated engine with which parcels, weighed by a task of `03-branches`, are heavy enough for a branch
 * that fails.
 */
const SEED = 'c';

/** The error messages of the branches of a branch node that fail the execution, also of branch nodes inside it. */
const messagesOfFailBranches = ({ ifElse }: BranchNode): string[] => {
  const nested = [ifElse?.case, ...(ifElse?.other ?? [])].flatMap((each) => (each?.thenNode ? [each.thenNode] : []));
  const otherwise = ifElse?.default;
  if (otherwise?.case === 'elseNode') nested.push(otherwise.value);
  const inside = nested.flatMap(({ target }) =>
    target.case === 'branchNode' ? messagesOfFailBranches(target.value) : [],
  );
  return otherwise?.case === 'error' ? [otherwise.value.message, ...inside] : inside;
};

describe.each(['grpc', 'rest'] as const)('the recorded requests over %s', (way) => {
  let plane: ControlPlane;
  let transport: Transport;
  let summary: EngineSummary;
  const answers = new Map<string, Answer>();

  /** `OK`, or the code and message of the answer to a recorded request. */
  const answerTo = ({ path }: FixtureEntry): string => {
    const answer = answers.get(path);
    return answer?.code === 'OK' ? 'OK' : `${answer?.code}: ${answer?.message}`;
  };

  /** The id of the execution that a recorded launch has created. */
  const launched = (entry: FixtureEntry) => {
    const { id } = fromBinary(ExecutionCreateResponseSchema, answers.get(entry.path)!.bytes);
    return id!;
  };

  const workflowOf = async (name: string, version: string) => {
    const id = { resourceType: ResourceType.WORKFLOW, project: 'flytesnacks', domain: 'development', name, version };
    const { closure } = await transport.call(method.getWorkflow, { id });
    return closure!.compiledWorkflow!;
  };

  beforeAll(async () => {
    plane = await startControlPlane();
    transport = plane[way];
    for (const entry of sent) answers.set(entry.path, await transport.send(entry.method, entry.bytes));
    summary = await plane.run({ seed: SEED });
  }, 300_000);
  afterAll(() => plane.close());

  it.each(folders.map(titledByCounts))('of %s are OK', (_, entries) => {
    const came = entries.map((entry) => [entry.path, answerTo(entry)]);
    expect(came).toEqual(entries.map(({ path }) => [path, 'OK']));
  });

  it.each(workflows.map(titled))('make a workflow of the expected shape: %s', async (_, { id, shape }) => {
    expect(shapeOf(await workflowOf(id.name!, id.version!))).toEqual(shape);
  });

  it('give an execution without a name a generated name', () => {
    const nameless = executions.filter(({ id }) => id.name === undefined);
    expect(nameless.map(({ path }) => path)).toEqual(['01-hello/execute-04.create_request.pb']);
    expect(nameless.map((entry) => launched(entry).name)).toEqual([
      expect.stringMatching(/^a[bcdfghjklmnpqrstvwxz2456789]{19}$/u),
    ]);
  });

  it.each(executions.map(titled))('launch an execution that runs to its end: %s', async (_, entry) => {
    const id = launched(entry);
    const { closure, spec } = await transport.call(method.getExecution, { id });
    const { template } = (await workflowOf(closure!.workflowId!.name, closure!.workflowId!.version)).primary!;
    const failing = template!.nodes.flatMap(({ target }) =>
      target.case === 'branchNode' ? messagesOfFailBranches(target.value) : [],
    );
    const nodes = await nodesOf(transport, id);
    const errors = nodes.flatMap(({ closure: node }) =>
      node?.outputResult.case === 'error' ? [node.outputResult.value.message] : [],
    );
    const takesFailBranch = errors.some((message) => failing.includes(message));
    expect(Phase[closure!.phase]).toBe(takesFailBranch ? 'FAILED' : 'SUCCEEDED');
    expect(spec!.launchPlan!.name).toBe(entry.launches!.name);
    if (takesFailBranch) return;
    const { fullInputs, fullOutputs } = await transport.call(method.getExecutionData, { id });
    expect(Object.keys(fullInputs!.literals)).toEqual(expect.arrayContaining([...entry.inputs!]));
    const promised = Object.keys(template!.interface?.outputs?.variables ?? {});
    expect(Object.keys(fullOutputs?.literals ?? {}).sort()).toEqual(promised.sort());
  });

  it('run a task by itself', async () => {
    const single = executions.find(({ launches }) => launches?.resourceType === 'TASK')!;
    expect(single.path).toBe('01-hello/execute-05.create_request.pb');
    const { spec, closure } = await transport.call(method.getExecution, { id: launched(single) });
    expect(spec!.launchPlan).toMatchObject({ resourceType: ResourceType.TASK, name: 'hello.greet', version: 'v1' });
    expect(closure!.workflowId!.name).toBe('.flytegen.hello.greet');
  });

  it('lead to executions that succeed and executions that fail, and to no others', async () => {
    const { executions: all } = await transport.call(method.listExecutions, {
      id: { project: 'flytesnacks', domain: 'development' },
      limit: 1000,
    });
    const phases = all.map(({ closure }) => Phase[closure!.phase]);
    expect(all.length).toBeGreaterThan(executions.length);
    expect(new Set(phases)).toEqual(new Set(['SUCCEEDED', 'FAILED']));
    expect(summary).toMatchObject({ endedBecause: 'idle', held: [], dropped: new Map(), events: { refused: 0 } });
  });

  it.each(folders.map(titledByCounts))(
    'of %s are ALREADY_EXISTS the second time and change nothing, except updates, uploads and launches without a name',
    async (_, entries) => {
      // A launch without a name creates a new execution each time, and an upload records nothing.
      const again = entries.filter((entry) => !isUpload(entry) && !(isExecution(entry) && entry.id.name === undefined));
      const before = await plane.head();
      for (const entry of again.filter((each) => !isUpdate(each))) {
        const { code, message } = await transport.send(entry.method, entry.bytes);
        expect([entry.path, code]).toEqual([entry.path, 'ALREADY_EXISTS']);
        if (!isExecution(entry)) expect(message).toContain('identical');
      }
      expect(await plane.head()).toBe(before);
      for (const entry of again.filter(isUpdate)) {
        expect(await transport.send(entry.method, entry.bytes)).toMatchObject({ code: 'OK' });
      }
    },
  );

  it('are answered as identical when the same content comes in other bytes', async () => {
    const before = await plane.head();
    const again = againEntries();
    expect(again.length).toBeGreaterThan(60);
    for (const { method: rpc, bytes, path, expect: code } of again) {
      const answer = await transport.send(rpc, bytes);
      expect([path, answer.code]).toEqual([path, code]);
      expect(answer.message).toContain('identical');
    }
    expect(await plane.head()).toBe(before);
  });

  it('launch an execution with the inputs of the request', async () => {
    const launch = executions.find(({ path }) => path === '01-hello/execute-02.create_request.pb')!;
    const request = fromBinary(ExecutionCreateRequestSchema, launch.bytes);
    const { fullInputs } = await transport.call(method.getExecutionData, { id: launched(launch) });
    expect(fullInputs).toEqual(request.inputs);
  });
});
