import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { assertTimes, type LargeRequests, type Route, route } from '../kernel/rpc.js';
import { type AgainServices, recoverExecution, relaunchExecution } from './rpc/again.js';
import { terminateExecution, updateExecution } from './rpc/change.js';
import { createExecution, givenInputs } from './rpc/create.js';
import { signalRoutes, type SignalServices } from './rpc/signals.js';
import { eventRoutes, type EventServices } from './rpc/events.js';

export type ExecutionServices = AgainServices & EventServices & SignalServices;

/** Handles launch requests whose inputs are too large to decode on the main thread. */
const largeCreations = (services: ExecutionServices): LargeRequests => ({
  aboveBytes: services.largeLaunches.aboveBytes,
  handle: async (bytes, call) => {
    const { request, inputs } = services.largeLaunches.read(bytes);
    assertTimes(AdminService.method.createExecution.input, request);
    return createExecution(services, request, inputs, call);
  },
});

/** The routes of all calls that change an execution. */
export const executionRoutes = (services: ExecutionServices): readonly Route[] => [
  route(
    AdminService.method.createExecution,
    (request, call) => createExecution(services, request, givenInputs(request), call),
    largeCreations(services),
  ),
  route(AdminService.method.relaunchExecution, (request, call) => relaunchExecution(services, request, call)),
  route(AdminService.method.recoverExecution, (request, call) => recoverExecution(services, request, call)),
  route(AdminService.method.terminateExecution, (request, call) => terminateExecution(services, request, call)),
  route(AdminService.method.updateExecution, (request, call) => updateExecution(services, request, call)),
  ...eventRoutes(services),
  ...signalRoutes(services),
];
