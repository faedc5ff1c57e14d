import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { assertTimes, type LargeRequests, type Route, route } from '../kernel/rpc.js';
import { type RelaunchServices, recover, relaunch } from './launch/relaunch.js';
import { givenInputs, launch } from './launch/launch.js';
import { terminateExecution, updateExecution } from './rpc/change.js';
import { answerLaunch } from './rpc/launch.js';
import { signalRoutes, type SignalServices } from './rpc/signals.js';
import { eventRoutes, type EventServices } from './rpc/events.js';

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
