import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { type Route, route } from '../kernel/rpc.js';
import { type AgainServices, recoverExecution, relaunchExecution } from './rpc-again.js';
import { terminateExecution, updateExecution } from './rpc-change.js';
import { createExecution } from './rpc-create.js';
import { signalRoutes, type SignalServices } from './rpc-signals.js';
import { eventRoutes, type EventServices } from './rpc-events.js';

export type ExecutionServices = AgainServices & EventServices & SignalServices;

/** Everything that changes an execution. */
export const executionRoutes = (services: ExecutionServices): readonly Route[] => [
  route(AdminService.method.createExecution, (request, call) => createExecution(services, request, call)),
  route(AdminService.method.relaunchExecution, (request, call) => relaunchExecution(services, request, call)),
  route(AdminService.method.recoverExecution, (request, call) => recoverExecution(services, request, call)),
  route(AdminService.method.terminateExecution, (request, call) => terminateExecution(services, request, call)),
  route(AdminService.method.updateExecution, (request, call) => updateExecution(services, request, call)),
  ...eventRoutes(services),
  ...signalRoutes(services),
];
