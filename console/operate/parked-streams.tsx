import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';

import { DataTable } from '../look/data-table.js';
import {
  type ListedParkedStream,
  OperationsService,
} from '../../proto/gen/platformidl/eventlog/operations_service_pb.js';
import { Empty } from '../look/notes.js';
import { Card } from '../look/page.js';
import { QueryResult } from '../look/query-result.js';
import { asking } from '../server/queries.js';
import { EventLink } from './event-link.js';
import { REFRESHED } from './refreshed.js';

const effectOf = ({ inViews, inProcess }: ListedParkedStream): string =>
  [...(inViews ? ['views lack what follows'] : []), ...(inProcess ? ['this process refuses commands on it'] : [])].join(
    '; ',
  );

const Streams = ({ streams }: { readonly streams: readonly ListedParkedStream[] }): ReactNode => (
  <DataTable label="Parked streams" columns={['Stream', 'Position', 'Reason', 'Effect']}>
    {streams.map((each) => (
      <tr key={each.stream}>
        <td>{each.stream}</td>
        <td>
          <EventLink stream={each.stream} position={each.position} />
        </td>
        <td>{each.reason}</td>
        <td>{effectOf(each)}</td>
      </tr>
    ))}
  </DataTable>
);

/** The streams with an event that this release cannot read. */
export const ParkedStreams = (): ReactNode => {
  const query = useQuery({ ...asking(OperationsService.method.listParkedStreams, {}), ...REFRESHED });
  return (
    <Card title="Parked streams">
      <QueryResult query={query}>
        {({ streams, total }) =>
          total === 0 ? (
            <Empty>None: every event can be read.</Empty>
          ) : (
            <>
              <p className="card-body quiet">
                An event of these streams cannot be read; all other streams continue. Views and processes read them
                again when they start, such as after an upgrade.{' '}
                {total > streams.length && `${streams.length} of ${total} are listed.`}
              </p>
              <Streams streams={streams} />
            </>
          )
        }
      </QueryResult>
    </Card>
  );
};
