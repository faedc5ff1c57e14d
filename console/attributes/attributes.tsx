import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import type { ReactNode } from 'react';

import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { DataTable } from '../look/data-table.js';
import { Empty } from '../look/notes.js';
import { Card, Page } from '../look/page.js';
import { QueryResult } from '../look/query-result.js';
import { SearchForm } from '../look/search-form.js';
import { useLive } from '../server/live.js';
import { rpcQuery } from '../server/queries.js';
import { jsonText } from '../values/display-value.js';
import { KINDS, type AttributeLevel, levelsOf, type AttributeScope } from './levels.js';

const route = getRouteApi('/projects/$project/domains/$domain/attributes');

const FIELDS = [['workflow', 'Workflow whose attributes to show']] as const;

const USES: Readonly<Record<AttributeLevel['use'], string>> = {
  applies: 'applies',
  fallback: 'applies to fields that a more specific level leaves unset',
  overridden: 'overridden',
  'of another workflow': 'applies to this workflow alone',
  unused: 'never applies: launches read those of the domain or the project',
};

const nameOf = ({ workflow, domain }: AttributeLevel, scope: AttributeScope): string => {
  if (workflow !== '') return `Workflow ${workflow}`;
  return domain === '' ? `Project ${scope.project}` : `Domain ${domain}`;
};

type KindProps = { readonly kind: (typeof KINDS)[number]; readonly scope: AttributeScope };

const OfKind = ({ kind: [kind, title], scope }: KindProps): ReactNode => {
  const attributes = useQuery(rpcQuery(AdminService.method.listMatchableAttributes, { resourceType: kind }));
  return (
    <Card title={title}>
      <QueryResult query={attributes}>
        {({ configurations }) => {
          const levels = levelsOf(kind, configurations, scope);
          if (levels.length === 0) return <Empty>Not set here: the configuration of the platform applies.</Empty>;
          return (
            <DataTable label={title} columns={['Set at', 'Value', 'Use']}>
              {levels.map((level) => (
                <tr key={`${level.domain} ${level.workflow}`}>
                  <td>{nameOf(level, scope)}</td>
                  <td>
                    <pre>{jsonText(level.value)}</pre>
                  </td>
                  <td>{level.use === 'applies' ? <strong>{USES.applies}</strong> : USES[level.use]}</td>
                </tr>
              ))}
            </DataTable>
          );
        }}
      </QueryResult>
    </Card>
  );
};

/** Shows the attributes of a project and domain by the level at which they are set, and which of them apply. */
export const Attributes = (): ReactNode => {
  const scope = route.useParams();
  const { workflow = '' } = route.useSearch();
  const navigate = route.useNavigate();
  useLive({ project: scope.project });
  return (
    <Page title="Attributes" above={`${scope.project} / ${scope.domain}`}>
      <SearchForm
        key={workflow}
        fields={FIELDS}
        values={{ workflow }}
        action="Show"
        search={(search) => void navigate({ search })}
      />
      <div className="cards">
        {KINDS.map((kind) => (
          <OfKind key={kind[0]} kind={kind} scope={{ ...scope, workflow }} />
        ))}
      </div>
    </Page>
  );
};
