import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { type ControlPlane, register, startControlPlane } from '../support/processes/control-plane.js';
import { withNeeds } from '../support/requests/fixtures.js';
import { wideWorkflow } from '../support/requests/wide-workflow.js';

const { method } = AdminService;
/** Far above the size that is compiled on the main thread. */
const NODES = 15_000;
/** Registrations of large workflows that a process lets wait for its compiling thread. */
const MAX_WAITING = 64;

let plane: ControlPlane;
beforeAll(async () => {
  plane = await startControlPlane();
  await register(plane.grpc, withNeeds('01-hello'));
});
afterAll(() => plane.close());

describe('a large workflow', () => {
  it('is compiled beside other calls, which are answered meanwhile', async () => {
    let isRegistered = false;
    const registering = plane.grpc.call(method.createWorkflow, wideWorkflow('v1', NODES)).then(() => {
      isRegistered = true;
    });
    for (let call = 0; call < 50; call += 1) {
      await plane.grpc.call(method.getVersion, {});
      await plane.rest.call(method.getVersion, {});
    }
    expect(isRegistered).toBe(false);
    await registering;
    const { closure } = await plane.grpc.call(method.getWorkflow, { id: wideWorkflow('v1', 1).id });
    const { primary, tasks } = closure!.compiledWorkflow!;
    expect([primary!.template!.nodes.length, tasks.length]).toEqual([NODES + 2, 1]); // with the start and the end node
    expect(primary!.connections!.downstream['n7']!.ids).toEqual(['n8']);
  });

  it('is ALREADY_EXISTS the second time, identical or different', async () => {
    const same = await plane.grpc.attempt(method.createWorkflow, wideWorkflow('v1', NODES));
    expect(same).toMatchObject({ code: 'ALREADY_EXISTS', message: expect.stringContaining('identical') as string });
    const other = await plane.grpc.attempt(method.createWorkflow, wideWorkflow('v1', 2_000));
    expect(other).toMatchObject({ code: 'ALREADY_EXISTS', message: expect.stringContaining('different') as string });
  });

  it('is refused with the name of a faulty node, and nothing is recorded', async () => {
    const request = wideWorkflow('wrong', 2_000);
    request.spec!.template!.nodes![1_000]!.upstreamNodeIds = ['unknown'];
    const refused = await plane.unchanged(() => plane.rest.attempt(method.createWorkflow, request));
    expect(refused).toMatchObject({ code: 'INVALID_ARGUMENT', message: expect.stringContaining('n1000') as string });
  });

  it('is RESOURCE_EXHAUSTED when too many wait, and the others are registered', async () => {
    // Two large workflows, because calls may go to two API processes in turn: each gets one, and 99 of the others.
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, at) =>
        plane.grpc.attempt(method.createWorkflow, wideWorkflow(`many-${at}`, at < 2 ? NODES : 300)),
      ),
    );
    const codes = answers.map(({ code }) => code);
    expect(new Set(codes)).toEqual(new Set(['OK', 'RESOURCE_EXHAUSTED']));
    expect(codes.filter((code) => code === 'OK').length).toBeGreaterThanOrEqual(MAX_WAITING);
    for (const [at, code] of codes.entries()) {
      const answer = await plane.grpc.attempt(method.getWorkflow, { id: wideWorkflow(`many-${at}`, 1).id });
      expect(answer.code).toBe(code === 'OK' ? 'OK' : 'NOT_FOUND');
    }
  });
});
