import { NO_SIGN_IN, signInRoutes } from '../../../services/auth/metadata/rpc.js';
import { isBuilt, routeTable, type RouteTable } from '../../../services/gateway/routes.js';
import { configure } from '../../../services/config/configuration.js';
import { allRoutes, type RouteServices } from '../../../services/main/routes.js';

/** A stand-in for the services that routes need; none of them is called here. */
const unasked: unknown = new Proxy(() => undefined, {
  get: (_target, name) => (name === 'then' ? undefined : unasked),
  apply: () => unasked,
});

const PUBLISHED_PACKAGE = 'platformidl.service';

const services = { ...(unasked as RouteServices), configuration: configure([]) };
const routes = allRoutes(new Proxy(services, { get: (own, name) => (Reflect.get(own, name) as unknown) ?? unasked }));

/** Every RPC of every service, and whether it is implemented. */
export const allRpcs: RouteTable = routeTable([...routes, ...signInRoutes(NO_SIGN_IN)]);

/** The RPCs that published clients know; the others are additions of flightlog. */
export const publishedRpcs: RouteTable = allRpcs.filter(
  ({ method }) => method.parent.file.proto.package === PUBLISHED_PACKAGE,
);

/** The names of the RPCs that are implemented, as `AdminService.GetTask`. */
export const builtRpcs: ReadonlySet<string> = new Set(allRpcs.filter(isBuilt).map(({ name }) => name));
