/** The name of a section in addresses of this console, by its name in older links. */
const SECTIONS: Readonly<Record<string, string>> = {
  dashboard: 'executions',
  executions: 'executions',
  task: 'tasks',
  tasks: 'tasks',
  workflow: 'workflows',
  workflows: 'workflows',
  launch_plan: 'launch_plans',
  launchPlan: 'launch_plans',
  launchPlans: 'launch_plans',
};

const sectionOf = (name: string): string | undefined => (Object.hasOwn(SECTIONS, name) ? SECTIONS[name] : undefined);

const DEFAULT_DOMAIN = 'development';

const OF_PROJECT = /^\/projects\/([^/]+)(?:\/(\w+))?\/?$/u;
const OF_DOMAIN = /^\/projects\/([^/]+)\/domains\/([^/]+)\/?$/u;
const OF_NODE = /^(\/projects\/[^/]+\/domains\/[^/]+\/executions\/[^/]+)\/(?:nodeId\/([^/]+)|\w+)(?:\/.*)?$/u;
const OF_DEFINITION = /^(\/projects\/[^/]+\/domains\/[^/]+)\/(\w+)\/([^/]+)(?:\/versions?\/([^/]+))?\/?$/u;

/** A path of this console, encoded as in an address, and its search parameters as plain text. */
export type ConsoleAddress = { readonly to: string; readonly search: Readonly<Record<string, string>> };

/** A part of a path as plain text; as it is where it is not encoded, such as `100%`. */
const decoded = (part: string): string => {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
};

/** The list of a project that a path names, in the domain of the search parameters, or else in `development`. */
const ofProject = (path: string, { domain }: Readonly<Record<string, unknown>>): ConsoleAddress | undefined => {
  const [, project, list] = OF_PROJECT.exec(path) ?? [];
  const section = sectionOf(list ?? 'dashboard');
  if (project === undefined || section === undefined) return undefined;
  const inDomain = typeof domain === 'string' && domain !== '' ? encodeURIComponent(domain) : DEFAULT_DOMAIN;
  return { to: `/projects/${project}/domains/${inDomain}/${section}`, search: {} };
};

const ofDomain = (path: string): ConsoleAddress | undefined => {
  const [, project, domain] = OF_DOMAIN.exec(path) ?? [];
  if (project === undefined || domain === undefined) return undefined;
  return { to: `/projects/${project}/domains/${domain}/executions`, search: {} };
};

const ofNode = (path: string): ConsoleAddress | undefined => {
  const [, execution, node] = OF_NODE.exec(path) ?? [];
  return execution === undefined
    ? undefined
    : { to: execution, search: node === undefined ? {} : { node: decoded(node) } };
};

const ofDefinition = (path: string): ConsoleAddress | undefined => {
  const [, scope, kind, name, version] = OF_DEFINITION.exec(path) ?? [];
  const section = sectionOf(kind ?? '');
  if (scope === undefined || section === undefined) return undefined;
  const to = `${scope}/${section}/${name ?? ''}`;
  if (version !== undefined) return { to, search: { version: decoded(version) } };
  return to === path ? undefined : { to, search: {} };
};

/**
 * The address that a link of other clients or of another console means: of the lists of a project or domain, of an
 * execution or a node of it, of a definition or a version of it. `undefined` for other links.
 *
 * @param path begins after the address of the console.
 */
export const addressOfOlderLink = (
  path: string,
  search: Readonly<Record<string, unknown>> = {},
): ConsoleAddress | undefined => ofProject(path, search) ?? ofDomain(path) ?? ofNode(path) ?? ofDefinition(path);
