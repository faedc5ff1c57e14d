import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';

import { DataTable } from '../look/data-table.js';
import {
  type ListedParkedStream,
  OperationsService,
} from '../../proto/gen/platformidl/eventlog/operations_service_pb.js';
import { Confirm } from '../look/confirm.js';
import { Ago } from '../look/moments.js';
import { Empty } from '../look/notes.js';
import { Card } from '../look/page.js';
import { QueryResult } from '../look/query-result.js';
import { msOf } from '../look/times.js';
import { useAct } from '../server/act.js';
import { REFRESHED, rpcQuery } from '../server/queries.js';
import { EventLink } from '../events/event-link.js';

const { listParkedStreams, retryParkedStream } = OperationsService.method;

const effectOf = ({ inViews, inProcess }: ListedParkedStream): string =>
  [...(inViews ? ['views lack what follows'] : []), ...(inProcess ? ['this process refuses commands on it'] : [])].join(
    '; ',
  );

/** The last request to read a stream again, which has not succeeded so far. */
const LastRetry = ({ listed }: { readonly listed: ListedParkedStream }): ReactNode => {
  const { retryRequestedAt, retryRequestedBy } = listed;
  if (!retryRequestedAt) return null;
  return (
    <small className="quiet">
      retried <Ago at={msOf(retryRequestedAt)} />
      {retryRequestedBy !== '' && ` by ${retryRequestedBy}`}, still parked
    </small>
  );
};

const Retry = ({ stream }: { readonly stream: string }): ReactNode => {
  const act = useAct();
  return (
    <div className="row-actions">
      <Confirm
        subject={stream}
        question={(name) => ({
          action: 'Retry',
          title: `Retry ${name}`,
          consequence:
            'The views and every process read the stream again. It stays parked if its event still cannot be read or processed.',
        })}
        act={(name) => act(retryParkedStream, { stream: name })}
      />
    </div>
  );
};

const StreamRow = ({ listed }: { readonly listed: ListedParkedStream }): ReactNode => (
  <tr>
    <td className="breaks">{listed.stream}</td>
    <td>
      <EventLink stream={listed.stream} position={listed.position} />
    </td>
    <td className="breaks">
      {listed.reason} <small className="quiet">{effectOf(listed)}</small> <LastRetry listed={listed} />
    </td>
    <td>
      <Retry stream={listed.stream} />
    </td>
  </tr>
);

const Streams = ({ streams }: { readonly streams: readonly ListedParkedStream[] }): ReactNode => (
  <DataTable label="Parked streams" columns={['Stream', 'Position', 'Reason', '']}>
    {streams.map((listed) => (
      <StreamRow key={listed.stream} listed={listed} />
    ))}
  </DataTable>
);

/** The streams with an event that cannot be read, or that a view cannot process. They can be retried. */
export const ParkedStreams = (): ReactNode => {
  const query = useQuery({ ...rpcQuery(listParkedStreams, {}), ...REFRESHED });
  return (
    <Card title="Parked streams">
      <QueryResult query={query}>
        {({ streams, total }) =>
          total === 0 ? (
            <Empty>None: every event can be read and processed.</Empty>
          ) : (
            <>
              <p className="card-body quiet">
                An event of each of these streams cannot be read or processed; all other streams continue. Retry one
                when the cause is gone, such as a missing payload that is back. After an upgrade they are read again
                without a retry. {total > streams.length && `${streams.length} of ${total} are listed.`}
              </p>
              <Streams streams={streams} />
            </>
          )
        }
      </QueryResult>
    </Card>
  );
};
