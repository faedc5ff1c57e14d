import type { DescMethod, DescService } from '@bufbuild/protobuf';

import { EngineService } from '../../proto/gen/platformidl/eventlog/engine_service_pb.js';
import { AccessService } from '../../proto/gen/platformidl/eventlog/access_service_pb.js';
import { AuditService } from '../../proto/gen/platformidl/eventlog/audit_service_pb.js';
import { ExecutionCountService } from '../../proto/gen/platformidl/eventlog/execution_count_service_pb.js';
import { HistoryService } from '../../proto/gen/platformidl/eventlog/history_pb.js';
import { NotificationService } from '../../proto/gen/platformidl/eventlog/notification_service_pb.js';
import { OperationsService } from '../../proto/gen/platformidl/eventlog/operations_service_pb.js';
import { ReactorService } from '../../proto/gen/platformidl/eventlog/reactor_service_pb.js';
import { ScheduleService } from '../../proto/gen/platformidl/eventlog/schedule_service_pb.js';
import { EventLogService } from '../../proto/gen/platformidl/eventlog/tail_pb.js';
import { ExecutionWatchService } from '../../proto/gen/platformidl/eventlog/watch_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import {
  AgentMetadataService,
  AsyncAgentService,
  SyncAgentService,
} from '../../proto/gen/platformidl/service/agent_pb.js';
import { AuthMetadataService } from '../../proto/gen/platformidl/service/auth_pb.js';
import { DataProxyService } from '../../proto/gen/platformidl/service/dataproxy_pb.js';
import { IdentityService } from '../../proto/gen/platformidl/service/identity_pb.js';
import { SignalService } from '../../proto/gen/platformidl/service/signal_pb.js';
import { OPEN_TO_ALL, type Requirement, requirementOf } from './dispatch/requirement.js';
import { type ReadTarget, targetReader } from './dispatch/target.js';
import {
  type AnyRoute,
  type BatchStreamRoute,
  type FollowRoute,
  type Route,
  RpcError,
  type StreamRoute,
} from '../kernel/rpc.js';

/** All services of the interface. */
export const services: readonly DescService[] = [
  AdminService,
  DataProxyService,
  SignalService,
  AuthMetadataService,
  IdentityService,
  SyncAgentService,
  AsyncAgentService,
  AgentMetadataService,
  HistoryService,
  EventLogService,
  ExecutionWatchService,
  ExecutionCountService,
  NotificationService,
  ScheduleService,
  EngineService,
  AccessService,
  AuditService,
  ReactorService,
  OperationsService,
];

/** One RPC of the interface with its handler, if it has one. */
export type Endpoint = {
  readonly method: DescMethod;
  /** The name in logs and messages, for example `AdminService.GetTask`. */
  readonly name: string;
  readonly route: Route | undefined;
  /** The handler of a streaming RPC. */
  readonly stream?: StreamRoute | BatchStreamRoute | FollowRoute;
  /** The permission that callers need, and the request fields that name the resource. */
  readonly requires: Requirement;
  /** Reads those fields. */
  readonly targetOf: ReadTarget;
  /** Read the other resources that a request refers to. */
  readonly readsOf: readonly ReadTarget[];
};

/** All RPCs of all services, each once. */
export type RouteTable = readonly Endpoint[];

/** The name of an RPC in logs and messages, for example `AdminService.GetTask`. */
export const rpcName = (method: DescMethod): string => `${method.parent.name}.${method.name}`;

/** Makes the endpoint of an RPC from its route; by default it requires no permission. */
export const endpointOf = (method: DescMethod, route: AnyRoute | undefined, requires = OPEN_TO_ALL): Endpoint => {
  const targetOf = targetReader(method.input, requires.target);
  const readsOf = requires.reads.map((target) => targetReader(method.input, target));
  const named = { method, name: rpcName(method), requires, targetOf, readsOf };
  return route !== undefined && 'handle' in route
    ? { ...named, route }
    : { ...named, route: undefined, ...(route && { stream: route }) };
};

/**
 * Joins the routes of all slices with all services of the interface.
 *
 * @throws {Error} when an RPC has two routes, a route is for an RPC that the interface does not have, or an RPC has no
 * requirement.
 */
export const routeTable = (routes: readonly AnyRoute[]): RouteTable => {
  const unused = new Map<DescMethod, AnyRoute>();
  for (const route of routes) {
    if (unused.has(route.method)) throw new Error(`${rpcName(route.method)} has two routes`);
    unused.set(route.method, route);
  }
  const table = services.flatMap((service) =>
    service.methods.map((method): Endpoint => {
      const route = unused.get(method);
      unused.delete(method);
      return endpointOf(method, route, requirementOf(method));
    }),
  );
  for (const method of unused.keys())
    throw new Error(
      `${rpcName(method)} is not an RPC of the interface: the services in services/gateway/routes.ts do not have it`,
    );
  return table;
};

/** True when an RPC has a handler, unary or streaming. */
export const isBuilt = ({ route, stream }: Endpoint): boolean => route !== undefined || stream !== undefined;

/** The error that an RPC without a handler answers. */
export const unimplemented = ({ name }: Endpoint): RpcError =>
  new RpcError('UNIMPLEMENTED', `${name} is not built yet`);
