import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';

import { DataTable } from '../look/data-table.js';
import {
  type ListedDeadLetter,
  type Reactor,
  ReactorService,
} from '../../proto/gen/platformidl/eventlog/reactor_service_pb.js';
import { Confirm } from '../look/confirm.js';
import { Lag } from '../look/lag.js';
import { Ago } from '../look/moments.js';
import { Empty } from '../look/notes.js';
import { Card } from '../look/page.js';
import { QueryResult } from '../look/query-result.js';
import { lengthOf, msOf } from '../look/times.js';
import { useAct } from '../server/act.js';
import { REFRESHED, rpcQuery } from '../server/queries.js';
import { EventLink } from '../events/event-link.js';
import { SignText } from '../look/sign-text.js';

type LetterProps = { readonly reactor: string; readonly listed: ListedDeadLetter };

const LetterActions = ({ reactor, listed: { letter, retrying } }: LetterProps): ReactNode => {
  const act = useAct();
  const { retryDeadLetter, skipDeadLetter } = ReactorService.method;
  const subject = { reactor, position: letter?.position ?? 0n };
  return (
    <div className="row-actions">
      <Confirm
        subject={subject}
        question={(work) => ({
          action: 'Retry',
          title: `Retry position ${work.position} of ${work.reactor}`,
          consequence:
            'The process that runs the reactor does the work for this event again. Work that keeps failing is a dead letter again.',
        })}
        isDisabled={retrying}
        act={(request) => act(retryDeadLetter, request)}
      />
      <Confirm
        subject={subject}
        question={(work) => ({
          action: 'Skip',
          title: `Skip position ${work.position} of ${work.reactor}`,
          consequence:
            'The reactor does not do the work for this event. This cannot be undone; the event stays in the log.',
          isDanger: true,
        })}
        act={(request) => act(skipDeadLetter, request)}
      />
    </div>
  );
};

const LetterRow = ({ reactor, listed }: LetterProps): ReactNode => {
  const { letter, retrying } = listed;
  if (!letter) return null;
  const state = retrying ? 'retrying' : letter.parked ? 'parked' : 'dead';
  return (
    <tr>
      <td>{reactor}</td>
      <td>
        <SignText tone={retrying ? 'running' : 'bad'}>{state}</SignText>
      </td>
      <td>
        <EventLink stream={letter.stream} position={letter.position} />
      </td>
      <td>
        {letter.stream} <small className="quiet">revision {String(letter.revision)}</small>
      </td>
      <td>
        {letter.reason}{' '}
        <small className="quiet">
          due <Ago at={msOf(letter.since)} />, {letter.attempts} attempts
        </small>
      </td>
      <td>
        <LetterActions reactor={reactor} listed={listed} />
      </td>
    </tr>
  );
};

const DeadLetters = ({ reactors }: { readonly reactors: readonly Reactor[] }): ReactNode => {
  const total = reactors.reduce((sum, { dead }) => sum + dead, 0);
  const rows = reactors.flatMap(({ name, deadLetters }) =>
    deadLetters.map((listed) => (
      <LetterRow key={`${name} ${listed.letter?.position}`} reactor={name} listed={listed} />
    )),
  );
  const unread = reactors.filter(({ problem }) => problem !== '').map(({ name }) => name);
  const unreadText = unread.length === 0 ? '' : `The dead letters of ${unread.join(', ')} cannot be read.`;
  if (rows.length === 0 && unreadText !== '') return <Empty>{unreadText} The others have none.</Empty>;
  if (rows.length === 0) return <Empty>None: the reactors have done all their work, or still try.</Empty>;
  return (
    <>
      <DataTable label="Dead letters" columns={['Reactor', 'State', 'Position', 'Stream', 'Reason', '']}>
        {rows}
      </DataTable>
      {unreadText !== '' && <p className="card-body quiet">{unreadText}</p>}
      {total > rows.length && (
        <p className="card-body quiet">
          {rows.length} of {total} are listed.
        </p>
      )}
    </>
  );
};

const ReactorRow = ({
  reactor: { name, worker, position, waiting, retrying, lag, dead, muted, problem },
}: {
  readonly reactor: Reactor;
}) => (
  <tr>
    <td>
      {name}
      {muted !== '' && <div className="label">{muted}</div>}
      {problem !== '' && <div className="label">{problem}</div>}
    </td>
    <td>{worker === '' ? <span className="quiet">no process known</span> : worker}</td>
    <td>{worker === '' ? <span className="quiet">–</span> : <Lag ms={lengthOf(lag) ?? 0} />}</td>
    <td>{position === 0n ? '–' : String(position)}</td>
    <td>{waiting}</td>
    <td>{retrying}</td>
    <td>{problem === '' ? dead : <SignText tone="bad">unknown</SignText>}</td>
  </tr>
);

const Running = ({ reactors }: { readonly reactors: readonly Reactor[] }): ReactNode => (
  <DataTable label="Reactors" columns={['Reactor', 'Process', 'Lag', 'Position', 'Unfinished', 'Retrying', 'Dead']}>
    {reactors.map((reactor) => (
      <ReactorRow key={reactor.name} reactor={reactor} />
    ))}
  </DataTable>
);

/** The reactors of the deployment, and their dead letters, which can be retried or skipped. */
export const Reactors = (): ReactNode => {
  const query = useQuery({ ...rpcQuery(ReactorService.method.listReactors, {}), ...REFRESHED });
  return (
    <>
      <Card title="Dead letters">
        <QueryResult query={query}>{({ reactors }) => <DeadLetters reactors={reactors} />}</QueryResult>
      </Card>
      <Card title="Reactors">
        <QueryResult query={query}>{({ reactors }) => <Running reactors={reactors} />}</QueryResult>
      </Card>
    </>
  );
};
