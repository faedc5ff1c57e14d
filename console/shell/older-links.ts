/** The last part of an address of this console, by that of older ones. */
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

const DEFAULT_DOMAIN = 'development';

const OF_PROJECT = /^\/projects\/([^/]+)(?:\/(\w+))?\/?$/u;
const OF_DOMAIN = /^\/projects\/([^/]+)\/domains\/([^/]+)\/?$/u;
const OF_NODE = /^(\/projects\/[^/]+\/domains\/[^/]+\/executions\/[^/]+)\/(?:nodeId\/([^/]+)|\w+)(?:\/.*)?$/u;
const OF_DEFINITION = /^(\/projects\/[^/]+\/domains\/[^/]+)\/(\w+)\/([^/]+)(?:\/versions?\/([^/]+))?\/?$/u;

/**
 * The address that a link of other clients or of another console means: of a node, of a version of a definition, of the
 * lists of a project. `undefined` for other links.
 *
 * @param path begins after the address of the console.
 */
export const addressOfOlderLink = (
  path: string,
  search: Readonly<Record<string, unknown>> = {},
): string | undefined => {
  const [, project, list] = OF_PROJECT.exec(path) ?? [];
  if (project !== undefined) {
    const section = SECTIONS[list ?? 'dashboard'];
    const domain = typeof search['domain'] === 'string' ? encodeURIComponent(search['domain']) : DEFAULT_DOMAIN;
    return section === undefined ? undefined : `/projects/${project}/domains/${domain}/${section}`;
  }
  const [, ofProject, domain] = OF_DOMAIN.exec(path) ?? [];
  if (ofProject !== undefined) return `/projects/${ofProject}/domains/${domain ?? ''}/executions`;
  const [, execution, node] = OF_NODE.exec(path) ?? [];
  if (execution !== undefined) return node === undefined ? execution : `${execution}?node=${node}`;
  const [, scope, kind, name, version] = OF_DEFINITION.exec(path) ?? [];
  const section = SECTIONS[kind ?? ''];
  if (scope === undefined || section === undefined) return undefined;
  const address = `${scope}/${section}/${name ?? ''}`;
  if (version !== undefined) return `${address}?version=${version}`;
  return address === path ? undefined : address;
};
