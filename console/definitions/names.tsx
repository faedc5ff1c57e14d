import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';

import { type NamedEntity, NamedEntityState, Sort_Direction } from '../../proto/gen/platformidl/admin/common_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { withContained } from '../executions/filter-text.js';
import { QueryResult } from '../look/query-result.js';
import { Empty } from '../look/notes.js';
import { Card, Page } from '../look/page.js';
import type { Scope } from '../server/ids.js';
import { useLive } from '../server/live.js';
import { rpcQuery } from '../server/queries.js';
import { type Kind, KINDS } from './kinds.js';

const SHOWN = 500;

type NamesProps = { readonly kind: Kind; readonly scope: Scope };

const NameList = ({ kind, scope, entities }: NamesProps & { readonly entities: readonly NamedEntity[] }): ReactNode => (
  <Card>
    <table className="table">
      <thead>
        <tr>
          <th>Name</th>
          <th>Description</th>
          <th>State</th>
        </tr>
      </thead>
      <tbody>
        {entities.map(({ id, metadata }) => (
          <tr key={id?.name}>
            <td>
              <Link to={`/projects/$project/domains/$domain/${kind}/$name`} params={{ ...scope, name: id?.name ?? '' }}>
                {id?.name}
              </Link>
            </td>
            <td className="quiet">{metadata?.description}</td>
            <td>{metadata?.state === NamedEntityState.NAMED_ENTITY_ARCHIVED ? 'archived' : 'active'}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </Card>
);

const Names = ({ kind, scope }: NamesProps): ReactNode => {
  const [text, setText] = useState('');
  const { title, resourceType } = KINDS[kind];
  useLive(scope);
  const names = useQuery(
    rpcQuery(AdminService.method.listNamedEntities, {
      resourceType,
      ...scope,
      limit: SHOWN,
      sortBy: { key: 'name', direction: Sort_Direction.ASCENDING },
      filters: withContained('', 'name', text.trim()),
    }),
  );
  return (
    <Page title={title} above={`${scope.project} / ${scope.domain}`}>
      <input
        className="field"
        type="search"
        value={text}
        onChange={(event) => setText(event.target.value)}
        placeholder="Find by name"
        aria-label={`Find ${title.toLowerCase()} by name`}
      />
      <QueryResult query={names}>
        {({ entities, token }) =>
          entities.length === 0 ? (
            <Empty>{text === '' ? 'There are none yet.' : 'No name contains this text.'}</Empty>
          ) : (
            <>
              <NameList kind={kind} scope={scope} entities={entities} />
              {token !== '' && <p className="quiet">The first {SHOWN} names are listed. Find others by name.</p>}
            </>
          )
        }
      </QueryResult>
    </Page>
  );
};

const useScopeOfAddress = (): Scope => {
  const { project = '', domain = '' } = useParams({ strict: false });
  return { project, domain };
};

export const Workflows = (): ReactNode => <Names kind="workflows" scope={useScopeOfAddress()} />;

export const Tasks = (): ReactNode => <Names kind="tasks" scope={useScopeOfAddress()} />;

export const LaunchPlans = (): ReactNode => <Names kind="launch_plans" scope={useScopeOfAddress()} />;
