import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  notFound,
  redirect,
} from '@tanstack/react-router';

import { Home } from './home/home.js';
import { FailureNote, Loading } from './look/notes.js';
import { Nothing } from './look/nothing.js';
import { Page } from './look/page.js';
import { consoleRoot } from './server/root.js';
import { addressOfOlderLink } from './shell/older-links.js';
import { Shell } from './shell/shell.js';

const NotThere = () => <Nothing title="There is no such page">The menu leads to all pages.</Nothing>;

const Broken = ({ error }: { readonly error: unknown }) => (
  <Page title="The page failed">
    <FailureNote error={error} />
  </Page>
);

const root = createRootRoute({
  component: Shell,
  notFoundComponent: NotThere,
  errorComponent: Broken,
});

/** The search parameters with these names, as text; `undefined` for one that is missing or empty. */
const textParameters =
  <Name extends string>(...names: readonly Name[]) =>
  (search: Readonly<Record<string, unknown>>): Readonly<Partial<Record<Name, string | undefined>>> =>
    // Each name has an entry, also an undefined one: the router keeps parameters of the address without an entry here.
    Object.fromEntries(
      names.map((name) => [name, typeof search[name] === 'string' && search[name] !== '' ? search[name] : undefined]),
    ) as Readonly<Partial<Record<Name, string>>>;

const home = createRoute({
  getParentRoute: () => root,
  path: '/',
  validateSearch: textParameters('hours'),
  component: Home,
});

type RouteAddress = {
  readonly location: { readonly pathname: string; readonly search: Readonly<Record<string, unknown>> };
};

/** Redirects an older link to the address of this console that it means; any other address is not found. */
const redirectOlderLink = ({ location: { pathname, search } }: RouteAddress): void => {
  const address = addressOfOlderLink(pathname, search);
  // oxlint-disable-next-line typescript/only-throw-error -- the router takes it when it is thrown
  if (address === undefined) throw notFound();
  // oxlint-disable-next-line typescript/only-throw-error -- the router takes it when it is thrown
  throw redirect({ ...address, replace: true } as never);
};

const other = createRoute({ getParentRoute: () => root, path: '$', beforeLoad: redirectOlderLink });

const scope = createRoute({ getParentRoute: () => root, path: '/projects/$project/domains/$domain' });

const scopeAlone = createRoute({ getParentRoute: () => scope, path: '/', beforeLoad: redirectOlderLink });

const executions = createRoute({
  getParentRoute: () => scope,
  path: '/executions',
  validateSearch: textParameters('filters'),
  component: lazyRouteComponent(() => import('./executions/executions.js'), 'Executions'),
});

const execution = createRoute({
  getParentRoute: () => scope,
  path: '/executions/$name',
  // An empty `with` is kept: it stands for the execution of the page itself.
  validateSearch: (search) => ({
    ...textParameters('view', 'node', 'asOf', 'with', 'withAsOf')(search),
    ...(search['with'] === '' ? { with: '' } : {}),
  }),
  component: lazyRouteComponent(() => import('./execution/execution.js'), 'ExecutionView'),
});

const launch = createRoute({
  getParentRoute: () => scope,
  path: '/launch/$kind/$name',
  validateSearch: textParameters('version', 'from'),
  component: lazyRouteComponent(() => import('./launch/launch.js'), 'Launch'),
});

const names = () => import('./definitions/names.js');
const definition = () => import('./definitions/definition.js');
const ofVersion = textParameters('version', 'with');

const workflows = createRoute({
  getParentRoute: () => scope,
  path: '/workflows',
  component: lazyRouteComponent(names, 'Workflows'),
});
const tasks = createRoute({
  getParentRoute: () => scope,
  path: '/tasks',
  component: lazyRouteComponent(names, 'Tasks'),
});
const launchPlans = createRoute({
  getParentRoute: () => scope,
  path: '/launch_plans',
  component: lazyRouteComponent(names, 'LaunchPlans'),
});
const workflow = createRoute({
  getParentRoute: () => scope,
  path: '/workflows/$name',
  validateSearch: ofVersion,
  component: lazyRouteComponent(definition, 'WorkflowView'),
});
const task = createRoute({
  getParentRoute: () => scope,
  path: '/tasks/$name',
  validateSearch: ofVersion,
  component: lazyRouteComponent(definition, 'TaskView'),
});
const launchPlan = createRoute({
  getParentRoute: () => scope,
  path: '/launch_plans/$name',
  validateSearch: ofVersion,
  component: lazyRouteComponent(definition, 'LaunchPlanView'),
});

const schedules = createRoute({
  getParentRoute: () => scope,
  path: '/schedules',
  component: lazyRouteComponent(() => import('./schedules/schedules.js'), 'Schedules'),
});

const attributes = createRoute({
  getParentRoute: () => scope,
  path: '/attributes',
  validateSearch: textParameters('workflow'),
  component: lazyRouteComponent(() => import('./attributes/attributes.js'), 'Attributes'),
});

const events = createRoute({
  getParentRoute: () => root,
  path: '/events',
  validateSearch: textParameters('from', 'project', 'domain', 'name', 'categories', 'types', 'phases'),
  component: lazyRouteComponent(() => import('./events/events.js'), 'Events'),
});

const operate = createRoute({
  getParentRoute: () => root,
  path: '/operate',
  component: lazyRouteComponent(() => import('./operate/operate.js'), 'Operate'),
});

const audit = createRoute({
  getParentRoute: () => root,
  path: '/audit',
  validateSearch: textParameters('project', 'domain', 'actor', 'since'),
  component: lazyRouteComponent(() => import('./audit/audit.js'), 'Audit'),
});

const routeTree = root.addChildren([
  home,
  scope.addChildren([
    scopeAlone,
    executions,
    execution,
    launch,
    workflows,
    tasks,
    launchPlans,
    workflow,
    task,
    launchPlan,
    schedules,
    attributes,
  ]),
  events,
  audit,
  operate,
  other,
]);

const searchText = (search: Readonly<Record<string, unknown>>): string => {
  const given = Object.entries(search).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
};

export const router = createRouter({
  routeTree,
  basepath: consoleRoot.pathname,
  parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
  stringifySearch: searchText,
  scrollRestoration: true,
  defaultPendingComponent: Loading,
  defaultPreload: 'intent',
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
