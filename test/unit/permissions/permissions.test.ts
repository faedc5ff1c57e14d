import { join } from 'node:path';

import { expect, it } from 'vitest';

import { ROLES, roles } from '../../../services/auth/permissions/roles.js';
import type { Requirement, Target } from '../../../services/gateway/dispatch/requirement.js';
import { type Endpoint, routeTable } from '../../../services/gateway/routes.js';
import type { Permission } from '../../../services/kernel/access.js';
import { markdownTable } from '../../support/markdown-table.js';

const PAPER = join(import.meta.dirname, '../../../../docs/permissions.md');

const PERMISSIONS: readonly Permission[] = ['read', 'register', 'execute', 'events', 'admin'];

const rolesTable = markdownTable(
  ['role', ...PERMISSIONS],
  ROLES.map((role) => [
    `\`${role}\``,
    ...PERMISSIONS.map((each) => ((roles[role] as readonly Permission[]).includes(each) ? 'yes' : '')),
  ]),
);

const fieldsOf = ({ project, domain }: Target): string =>
  [project, domain].flatMap((field) => (field === undefined ? [] : [`\`${field}\``])).join(', ');

const whereOf = ({ permission, target }: Requirement): string => {
  if (permission === 'none' || permission === 'authenticated') return '';
  if (target.project === undefined) return 'everywhere';
  if (target.domain !== undefined) return fieldsOf(target);
  return `${fieldsOf(target)}, in ${permission === 'read' ? 'any' : 'every'} domain`;
};

const NAMES: Partial<Record<Requirement['permission'], string>> = { none: 'no token', authenticated: 'any token' };

const sectionOf = (service: string, endpoints: readonly Endpoint[]): string =>
  `### ${service}\n\n${markdownTable(
    ['RPC', 'requires', 'in project and domain of', 'and read in those of'],
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

const paper = `# Permissions

What each role may do, and what each RPC requires, over gRPC and REST alike. [operations/authentication.md](operations/authentication.md) says how callers get roles. This page is generated from the code; \`npm run permissions-list\` writes it anew.

## Roles

${rolesTable}

A grant gives a role in some projects and domains, or in all (\`*\`).

## RPCs

The project and domain are those of the named fields of the request. Where a request leaves them empty, and where an RPC has none, the permission is required everywhere.

${sections.join('\n\n')}
`;

it('docs/permissions.md is what the code requires', async () => {
  await expect(paper).toMatchFileSnapshot(PAPER);
});
