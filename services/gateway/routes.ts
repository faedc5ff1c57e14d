import type { DescMethod, DescService } from '@bufbuild/protobuf';

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
import { OPEN, type Requirement, requirementOf } from './dispatch/requirement.js';
import { type AnyRoute, type Route, RpcError, type StreamRoute } from '../kernel/rpc.js';

/** Every service of the interface. */
export const services: readonly DescService[] = [
  AdminService,
  DataProxyService,
  SignalService,
  AuthMetadataService,
  IdentityService,
  SyncAgentService,
  AsyncAgentService,
  AgentMetadataService,
];

/** One RPC of the interface, and what answers it where that is built. */
export type Endpoint = {
  readonly method: DescMethod;
  /** `AdminService.GetTask`: what logs and texts call it. */
  readonly name: string;
  readonly route: Route | undefined;
  /** What answers an RPC that is a stream. */
  readonly stream?: StreamRoute;
  /** What it requires of its callers, and where its requests say what they are about. */
  readonly requires: Requirement;
};

/** Every RPC of every service, once. */
export type RouteTable = readonly Endpoint[];

/** `AdminService.GetTask`. */
export const rpcName = (method: DescMethod): string => `${method.parent.name}.${method.name}`;

/** Joins an RPC with what answers it. */
export const endpointOf = (method: DescMethod, route: AnyRoute | undefined, requires = OPEN): Endpoint => {
  const named = { method, name: rpcName(method), requires };
  return route?.takes === 'stream' ? { ...named, route: undefined, stream: route } : { ...named, route };
};

/**
 * Joins the routes of all slices with all services of the interface.
 *
 * @throws {Error} when two routes answer one RPC, a route answers one that the interface does not have, or nobody has
 * said what an RPC requires of its callers.
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
  for (const method of unused.keys()) throw new Error(`${rpcName(method)} is not an RPC of the interface`);
  return table;
};

/** Whether something answers an RPC. */
export const isBuilt = ({ route, stream }: Endpoint): boolean => route !== undefined || stream !== undefined;

/** What an RPC without a route answers. */
export const unimplemented = ({ name }: Endpoint): RpcError =>
  new RpcError('UNIMPLEMENTED', `${name} is not built yet`);
