import { create } from '@bufbuild/protobuf';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import {
  type ExecutionCreateResponse,
  ExecutionCreateResponseSchema,
} from '../../proto/gen/platformidl/admin/execution_pb.js';
import { assertTimes, type LargeRequests, type Route, route, type Call, RpcError } from '../kernel/rpc.js';
import { type RelaunchServices, recover, relaunch } from './launch/relaunch.js';
import { givenInputs } from './launch/given-inputs.js';
import { launch, type Actor } from './launch/launch.js';
import { terminateExecution, updateExecution } from './rpc/change.js';
import { signalRoutes, type SignalServices } from './rpc/signals.js';
import { eventRoutes, type EventServices } from './rpc/events.js';
import { contextOf } from '../kernel/command-context.js';
import type { Launched, LaunchRefusal } from './launch/answer.js';
import { refusalError } from './rpc/refusals.js';
import type { ExecutionId } from '../kernel/execution-id.js';

const errorOf = (id: ExecutionId, refusal: LaunchRefusal): RpcError => {
  switch (refusal.kind) {
    case 'invalid':
      return refusal.error;
    case 'execution':
      return refusalError(refusal.refusal, { id });
    case 'limit-reached': {
      const { max, plan } = refusal;
      return new RpcError(
        'ALREADY_EXISTS',
        `concurrency limit (${max}) reached for launch plan ${plan}; skipping execution`,
      );
    }
  }
};

/** Launches for the caller of a request, and makes the answer or the error of the result. */
export const answerLaunch = async (
  call: Call,
  launch: (actor: Actor) => Promise<Launched>,
): Promise<ExecutionCreateResponse> => {
  const launched = await launch({ ...contextOf(call), principal: call.principal });
  if (launched.position !== undefined) call.answeredAt(launched.position);
  if (launched.kind === 'refused') throw errorOf(launched.id, launched.refusal);
  return create(ExecutionCreateResponseSchema, { id: launched.id });
};

export type ExecutionServices = RelaunchServices & EventServices & SignalServices;

/**
 * Handles launch requests above `aboveBytes`. Their inputs stay encoded on this thread; a worker thread checks and
 * completes them.
 */
const largeCreations = (services: ExecutionServices): LargeRequests => ({
  aboveBytes: services.largeLaunches.aboveBytes,
  handle: async (bytes, call) => {
    const { request, inputs: given } = services.largeLaunches.read(bytes);
    assertTimes(AdminService.method.createExecution.input, request);
    return answerLaunch(call, (actor) => launch(services, { request, given }, actor));
  },
});

/** The routes of all calls that change an execution. */
export const executionRoutes = (services: ExecutionServices): readonly Route[] => [
  route(
    AdminService.method.createExecution,
    (request, call) => answerLaunch(call, (actor) => launch(services, { request, given: givenInputs(request) }, actor)),
    largeCreations(services),
  ),
  route(AdminService.method.relaunchExecution, (request, call) =>
    answerLaunch(call, (actor) => relaunch(services, request, actor)),
  ),
  route(AdminService.method.recoverExecution, (request, call) =>
    answerLaunch(call, (actor) => recover(services, request, actor)),
  ),
  route(AdminService.method.terminateExecution, (request, call) => terminateExecution(services, request, call)),
  route(AdminService.method.updateExecution, (request, call) => updateExecution(services, request, call)),
  ...eventRoutes(services),
  ...signalRoutes(services),
];
