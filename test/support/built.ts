import { isBuilt, routeTable, type RouteTable } from '../../services/gateway/routes.js';
import { configure } from '../../services/config/configuration.js';
import { allRoutes, type RouteServices } from '../../services/main/routes.js';

/** Stands for whatever routes are built on; none is asked anything here. */
const unasked: unknown = new Proxy(() => undefined, {
  get: (_target, name) => (name === 'then' ? undefined : unasked),
  apply: () => unasked,
});

const services = { ...(unasked as RouteServices), configuration: configure([]) };
const { routes } = allRoutes(
  new Proxy(services, { get: (own, name) => (Reflect.get(own, name) as unknown) ?? unasked }),
);

/** Every RPC of every service, and whether something answers it. */
export const allRpcs: RouteTable = routeTable(routes);

/** The RPCs that something answers, as `AdminService.GetTask`. */
export const builtRpcs: ReadonlySet<string> = new Set(allRpcs.filter(isBuilt).map(({ name }) => name));
