import './audit.css';

import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { getRouteApi, Link } from '@tanstack/react-router';
import { type ReactNode, useEffect, useState } from 'react';

import type { AuditEntry } from '../../proto/gen/platformidl/eventlog/audit_service_pb.js';
import { Ago } from '../look/moments.js';
import { Empty, FailureNote, Loading } from '../look/notes.js';
import { Page } from '../look/page.js';
import { PhaseSign } from '../look/phase-badge.js';
import { SearchForm } from '../look/search-form.js';
import { msOf } from '../look/times.js';
import { type AuditFilter, followAudit } from '../server/audit.js';
import { type Followed, useLive } from '../server/live.js';
import { ExportButtons } from './export-buttons.js';
import { sinceMs } from './since.js';

/** Older entries are dropped, so that a page that stays open does not grow. */
const MAX_ENTRIES = 2_000;

const route = getRouteApi('/audit');

const FIELDS = [
  ['project', 'Project'],
  ['domain', 'Domain'],
  ['actor', 'Principal'],
  ['since', 'Since: a time, or 90m, 24h, 7d (24h by default)'],
] as const;

type Search = Readonly<Partial<Record<(typeof FIELDS)[number][0], string | undefined>>>;

const filterOf = ({ project = '', domain = '', actor = '', since = '24h' }: Search): AuditFilter => {
  const ms = sinceMs(since, Date.now());
  if (ms === undefined)
    throw new RangeError(
      `since: ${since} is neither a time such as 2026-03-02T12:00:00Z nor a length of time such as 24h`,
    );
  return { project, domain, actor, since: timestampFromMs(ms) };
};

/** The part of the log that a search is about. */
const followedBy = ({ project = '', domain = '' }: Search): Followed => ({
  ...(project !== '' && { project }),
  ...(domain !== '' && { domain }),
});

type Trail = { readonly entries: readonly AuditEntry[] | undefined; readonly error: unknown };

const NOTHING: Trail = { entries: undefined, error: undefined };

/** The newest entries first, followed while the view is open. */
const useAudit = (search: Search): Trail => {
  const [trail, setTrail] = useState(NOTHING);
  const key = JSON.stringify(search);
  useEffect(() => {
    const closing = new AbortController();
    setTrail(NOTHING);
    const add = (later: readonly AuditEntry[]): void =>
      setTrail(({ entries = [] }) => ({
        entries: [...[...later].reverse(), ...entries].slice(0, MAX_ENTRIES),
        error: undefined,
      }));
    const failed = (error: unknown): void => setTrail(({ entries }) => ({ entries, error }));
    try {
      void followAudit(filterOf(JSON.parse(key) as Search), { entries: add, failed }, closing.signal);
    } catch (error) {
      failed(error);
    }
    return () => closing.abort();
  }, [key]);
  return trail;
};

const Target = ({ entry: { project, domain, name } }: { readonly entry: AuditEntry }): ReactNode => (
  <>{[project, domain, name].filter(Boolean).join(' / ')}</>
);

const Position = ({ entry: { position } }: { readonly entry: AuditEntry }): ReactNode =>
  position > 0n && (
    <Link to="/events" search={{ from: String(position) }}>
      {String(position)}
    </Link>
  );

const Row = ({ entry }: { readonly entry: AuditEntry }): ReactNode => (
  <tr>
    <td>
      <Ago at={msOf(entry.at)} />
    </td>
    <td>
      <span className="attempt-head">
        <PhaseSign tone={entry.code === 'OK' ? 'good' : 'bad'} /> {entry.code}
        {entry.count > 1n && ` × ${entry.count}`}
      </span>
    </td>
    <td>
      {entry.principal || <span className="quiet">not authenticated</span>}
      {entry.clientId !== '' && <div className="quiet">{entry.clientId}</div>}
    </td>
    <td>
      {entry.action}
      {entry.reason !== '' && <div className="quiet">{entry.reason}</div>}
    </td>
    <td>
      <Target entry={entry} />
    </td>
    <td>
      {entry.transport} {entry.address}
    </td>
    <td>
      <code title="Id of the request">{entry.requestId}</code>
    </td>
    <td>
      <Position entry={entry} />
    </td>
  </tr>
);

const HEADINGS = ['When', 'Result', 'Principal', 'Action', 'Target', 'Transport and address', 'Request', 'Position'];

const Entries = ({ entries }: { readonly entries: readonly AuditEntry[] }): ReactNode =>
  entries.length === 0 ? (
    <Empty>No entry of this time matches. Only servers with authentication keep an audit.</Empty>
  ) : (
    <div className="card wide-table" tabIndex={0} role="region" aria-label="Entries of the audit">
      <table className="table">
        <thead>
          <tr>
            {HEADINGS.map((heading) => (
              <th key={heading}>{heading}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {entries.map((entry) => (
            <Row key={String(entry.id)} entry={entry} />
          ))}
        </tbody>
      </table>
    </div>
  );

/** Changes, refusals and sign-ins, with their callers. */
export const Audit = (): ReactNode => {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { entries, error } = useAudit(search);
  useLive(followedBy(search));
  return (
    <Page
      title="Audit"
      above="Changes, refusals and sign-ins"
      beside={<ExportButtons filter={() => filterOf(search)} />}
    >
      <SearchForm
        key={JSON.stringify(search)}
        fields={FIELDS}
        values={search}
        action="Search"
        search={(next) => void navigate({ search: next })}
      />
      {error !== undefined && <FailureNote error={error} isRepeated />}
      {entries ? <Entries entries={entries} /> : error === undefined && <Loading />}
    </Page>
  );
};
