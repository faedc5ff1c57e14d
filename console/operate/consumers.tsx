import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';

import { DataTable } from '../look/data-table.js';
import { type ListedConsumer, OperationsService } from '../../proto/gen/platformidl/eventlog/operations_service_pb.js';
import { Empty } from '../look/notes.js';
import { Card } from '../look/page.js';
import { QueryResult } from '../look/query-result.js';
import { REFRESHED, rpcQuery } from '../server/queries.js';

const positionText = (position: bigint | undefined): string => (position === undefined ? '–' : String(position));

const Connections = ({ connections }: Pick<ListedConsumer, 'connections'>): ReactNode => {
  if (connections.length === 0) return <span className="quiet">none</span>;
  return connections.map(({ address, name, inFlight, bufferSize }) => (
    <div key={address}>
      {name || address}{' '}
      <small className="quiet">
        {name !== '' && `${address}, `}
        {inFlight} of {bufferSize} in flight
      </small>
    </div>
  ));
};

const ConsumerTable = ({ consumers }: { readonly consumers: readonly ListedConsumer[] }): ReactNode => (
  <DataTable
    label="Named consumers"
    columns={[
      'Consumer',
      'Source',
      'Checkpoint',
      'Last event',
      'Unacknowledged',
      'Parked',
      'Connected to this process',
    ]}
  >
    {consumers.map(({ source, group, checkpoint, last, pending, parked, connections }) => (
      <tr key={`${source}::${group}`}>
        <td>{group}</td>
        <td>{source}</td>
        <td>{positionText(checkpoint)}</td>
        <td>{positionText(last)}</td>
        <td>{pending}</td>
        <td>{parked}</td>
        <td>
          <Connections connections={connections} />
        </td>
      </tr>
    ))}
  </DataTable>
);

/** The named consumers (persistent subscriptions) of the log. */
export const Consumers = (): ReactNode => {
  const query = useQuery({ ...rpcQuery(OperationsService.method.listConsumers, {}), ...REFRESHED });
  return (
    <Card title="Named consumers">
      <QueryResult query={query}>
        {({ consumers }) =>
          consumers.length === 0 ? (
            <Empty>No persistent subscription exists.</Empty>
          ) : (
            <ConsumerTable consumers={consumers} />
          )
        }
      </QueryResult>
    </Card>
  );
};
