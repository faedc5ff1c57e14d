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
import { asking } from '../server/queries.js';
import { jsonText } from '../values/plain.js';
import { KINDS, type Level, levelsOf, type Place } from './levels.js';

const route = getRouteApi('/projects/$project/domains/$domain/attributes');

const FIELDS = [['workflow', 'Workflow, to see what applies to it']] as const;

const USES: Readonly<Record<Level['use'], string>> = {
  applies: 'applies',
  fallback: 'applies where the level above says nothing',
  overridden: 'overridden',
  'of another workflow': 'applies to this workflow alone',
};

const nameOf = ({ workflow, domain }: Level, place: Place): string => {
  if (workflow !== '') return `Workflow ${workflow}`;
  return domain === '' ? `Project ${place.project}` : `Domain ${domain}`;
};

type KindProps = { readonly kind: (typeof KINDS)[number]; readonly place: Place };

const OfKind = ({ kind: [kind, title], place }: KindProps): ReactNode => {
  const attributes = useQuery(asking(AdminService.method.listMatchableAttributes, { resourceType: kind }));
  return (
    <Card title={title}>
      <QueryResult query={attributes}>
        {({ configurations }) => {
          const levels = levelsOf(kind, configurations, place);
          if (levels.length === 0) return <Empty>Not set here: the configuration of the platform applies.</Empty>;
          return (
            <DataTable label={title} columns={['Set at', 'Value', 'Use']}>
              {levels.map((level) => (
                <tr key={`${level.domain} ${level.workflow}`}>
                  <td>{nameOf(level, place)}</td>
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

/** The attributes of a project and domain by the levels that they are set at, and which of them apply. */
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
      {KINDS.map((kind) => (
        <OfKind key={kind[0]} kind={kind} place={{ ...scope, workflow }} />
      ))}
    </Page>
  );
};
