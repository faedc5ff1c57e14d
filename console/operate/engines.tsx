import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';

import { DataTable } from '../look/data-table.js';
import { type ListedEngine, OperationsService } from '../../proto/gen/platformidl/eventlog/operations_service_pb.js';
import { Ago } from '../look/moments.js';
import { Empty } from '../look/notes.js';
import { Card } from '../look/page.js';
import { QueryResult } from '../look/query-result.js';
import { msOf } from '../look/times.js';
import { REFRESHED, rpcQuery } from '../server/queries.js';
import { SignText } from '../look/sign-text.js';

const Leased = ({ engine: { executions, leased } }: { readonly engine: ListedEngine }): ReactNode => (
  <div className="executions-of-engine">
    {executions.map(({ project, domain, name }) => (
      <Link
        key={`${project} ${domain} ${name}`}
        to="/projects/$project/domains/$domain/executions/$name"
        params={{ project, domain, name }}
        title={`${project} / ${domain}`}
      >
        {name}
      </Link>
    ))}
    {leased > executions.length && <span className="quiet">and {leased - executions.length} more</span>}
    {leased === 0 && <span className="quiet">none</span>}
  </div>
);

const EngineRow = ({ engine }: { readonly engine: ListedEngine }): ReactNode => (
  <tr>
    <td>
      {engine.engine} <small className="quiet">{engine.group}</small>
    </td>
    <td>
      <SignText tone={engine.connected ? 'good' : 'waiting'}>
        {engine.connected ? 'connected' : 'connected to another process, or lost'}
      </SignText>
    </td>
    <td>
      <Ago at={msOf(engine.seenAt)} />
    </td>
    <td>{engine.connected && engine.free}</td>
    <td>
      <Leased engine={engine} />
    </td>
  </tr>
);

const EngineTable = ({ engines }: { readonly engines: readonly ListedEngine[] }): ReactNode => (
  <DataTable label="Engines" columns={['Engine', 'State', 'Last message', 'Free slots', 'Leased executions']}>
    {engines.map((engine) => (
      <EngineRow key={engine.session} engine={engine} />
    ))}
  </DataTable>
);

/**
 * The engines of the work stream that are connected to the process that serves the page or have leased executions, with
 * these executions.
 */
export const Engines = (): ReactNode => {
  const query = useQuery({ ...rpcQuery(OperationsService.method.listEngines, {}), ...REFRESHED });
  return (
    <Card
      title="Engines"
      beside={query.data && <span className="quiet">waiting executions: {query.data.waiting}</span>}
    >
      <QueryResult query={query}>
        {({ engines }) =>
          engines.length === 0 ? (
            <Empty>
              No engine is connected to this process for the work stream, or has leased executions. Engines that only
              report events are not listed.
            </Empty>
          ) : (
            <EngineTable engines={engines} />
          )
        }
      </QueryResult>
    </Card>
  );
};
