import { join } from 'node:path';

import { expect, it } from 'vitest';

import { ACCESS_ROLES, permissionsOfRoles } from '../../../services/auth/permissions/roles.js';
import type { Requirement, TargetFields } from '../../../services/gateway/dispatch/requirement.js';
import { type Endpoint, routeTable } from '../../../services/gateway/routes.js';
import type { Permission } from '../../../services/kernel/access.js';
import { markdownTable } from '../../support/documents/markdown-table.js';

const PAGE = join(import.meta.dirname, '../../../../docs/permissions.md');

const PERMISSIONS: readonly Permission[] = ['read', 'register', 'execute', 'events', 'admin'];

const rolesTable = markdownTable(
  ['role', ...PERMISSIONS],
  ACCESS_ROLES.map((role) => [
    `\`${role}\``,
    ...PERMISSIONS.map((each) => ((permissionsOfRoles[role] as readonly Permission[]).includes(each) ? 'yes' : '')),
  ]),
);

/** The fields of the request that name the project and the domain, as far as it has them. */
const fieldsOf = ({ project, domain }: TargetFields): string =>
  [project, domain].flatMap((field) => (field === undefined ? [] : [`\`${field}\``])).join(', ');

/** The table's text for the projects and domains in which the permission is required. */
const whereOf = ({ permission, target }: Requirement): string => {
  if (permission === 'none' || permission === 'authenticated') return '';
  if (target.project === undefined) return 'everywhere';
  if (target.domain !== undefined) return fieldsOf(target);
  return `${fieldsOf(target)}, in ${permission === 'read' ? 'at least one' : 'every'} domain`;
};

/** The table's texts for requirements that are no permission. */
const NAMES: Partial<Record<Requirement['permission'], string>> = { none: 'no token', authenticated: 'any token' };

/** The page's section about a service: a table of its RPCs. */
const sectionOf = (service: string, endpoints: readonly Endpoint[]): string =>
  `### ${service}\n\n${markdownTable(
    ['RPC', 'requires', 'in project and domain of', 'and `read` in project and domain of'],
    endpoints.map(({ method, requires }) => [
      method.name,
      NAMES[requires.permission] ?? `\`${requires.permission}\``,
      whereOf(requires),
      requires.reads.map(({ project = '' }) => `\`${project.replace(/\.project$/u, '')}\``).join(', '),
    ]),
  )}`;

const endpoints = routeTable([]);
const sections = [...new Set(endpoints.map(({ method }) => method.parent.name))].map((service) =>
  sectionOf(
    service,
    endpoints.filter(({ method }) => method.parent.name === service),
  ),
);

const page = `# Permissions

What each role may do, and what each RPC requires, over gRPC and REST alike. [operations/authentication.md](operations/authentication.md) says how callers get roles. This page is generated from the code; \`npm run permissions-list\` writes it anew.

## Roles

${rolesTable}

A grant gives a role in some projects and domains, or in all (\`*\`). What the permissions allow:

- \`read\`: to see projects, attributes, definitions, schedules, executions with their data and signals, notifications, events and agents.
- \`register\`: to register tasks, workflows and launch plans, to activate and deactivate launch plans, to describe and archive names, to pause and resume schedules and skip their ticks, and to upload.
- \`execute\`: to launch, change and end executions, to set signals, to fire schedules by hand, to send notifications again, to call agents.
- \`events\`: to take work as an engine, to report events, to create signals.
- \`admin\`: to change projects and attributes, to see and change role bindings, to see the audit, reactors (background components, such as for schedules), engines, parked streams (with an event that cannot be read) and consumers, to retry or skip dead letters (failed background work), and to retry parked streams.

## RPCs

The project and domain are those of the named fields of the request. An empty domain stands for all domains of the project, an empty project for all projects: the permission is then required in all of them. So it is for an RPC without such fields (\`everywhere\`). A field of the last column requires nothing when the request leaves it empty.

- \`no token\`: open to every client.
- \`any token\`: the dispatch requires only valid credentials, such as a token or a client certificate. ListProjects, GetDomains and ListMatchableAttributes leave out what the caller may not read, and UserInfo and ListOwnPermissions are about the caller. GetData and CreateDownloadLocation require \`read\` in the project and domain of the data. Work, Report and ReportBatch require \`events\` in the project and domain of each execution.
- CreateWorkflow also requires \`read\` in the project and domain of each task and launch plan that its nodes refer to.
- Diff compares two moments of an execution, or two executions of one project and domain.

${sections.join('\n\n')}
`;

it('docs/permissions.md is what the code requires', async () => {
  await expect(page).toMatchFileSnapshot(PAGE, '`npm run permissions-list` writes it');
});
