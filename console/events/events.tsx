import './events.css';

import { getRouteApi } from '@tanstack/react-router';
import { type ReactNode, useEffect, useState } from 'react';

import { Empty, FailureNote } from '../look/notes.js';
import { Page } from '../look/page.js';
import { SearchForm } from '../look/search-form.js';
import type { ServerFailure } from '../server/failure.js';
import { followTail, type TailedEvent } from '../server/tail.js';

const MAX_SHOWN = 500;

const route = getRouteApi('/events');

const FIELDS = [
  ['from', 'From: start, now, a position or a time'],
  ['project', 'Project'],
  ['domain', 'Domain'],
  ['name', 'Execution'],
  ['categories', 'Categories, such as execution'],
  ['types', 'Types, such as NodePhaseReported'],
  ['phases', 'Phases, such as FAILED'],
] as const;

type Filters = Readonly<Partial<Record<(typeof FIELDS)[number][0], string | undefined>>>;

const parametersOf = (filters: Filters): Record<string, string> =>
  Object.fromEntries(
    Object.entries(filters).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );

type Tail = { readonly events: readonly TailedEvent[]; readonly refusal: ServerFailure | undefined };

/** Follows the log; the newest events come first, and only the last 500 are kept. */
const useTail = (filters: Filters): Tail => {
  const [events, setEvents] = useState<readonly TailedEvent[]>([]);
  const [refusal, setRefusal] = useState<ServerFailure | undefined>();
  const key = JSON.stringify(parametersOf(filters));
  useEffect(() => {
    setEvents([]);
    setRefusal(undefined);
    return followTail(JSON.parse(key) as Record<string, string>, {
      event: (event) => setEvents((before) => [event, ...before].slice(0, MAX_SHOWN)),
      refused: setRefusal,
    });
  }, [key]);
  return { events, refusal };
};

const EventList = ({ events }: Pick<Tail, 'events'>): ReactNode => (
  <ol className="card tail" aria-label="Events">
    {events.map((event) => (
      <li key={event.position}>
        <details>
          <summary>
            <code>{event.position}</code> <strong>{event.type}</strong> <span>{event.stream}</span>{' '}
            <span className="quiet">{event.recordedAt}</span> <span className="quiet">{event.actor}</span>
          </summary>
          <pre tabIndex={0}>{event.text}</pre>
        </details>
      </li>
    ))}
  </ol>
);

/** The events of the log as they are recorded, with filters. */
export const Events = (): ReactNode => {
  const filters = route.useSearch();
  const navigate = route.useNavigate();
  const { events, refusal } = useTail(filters);
  return (
    <Page title="Events" above={`The log, as it is written: the newest ${MAX_SHOWN} that match`}>
      <SearchForm
        key={JSON.stringify(filters)}
        fields={FIELDS}
        values={filters}
        action="Follow"
        search={(search) => void navigate({ search })}
      />
      {refusal && <FailureNote error={refusal} />}
      {events.length > 0 && <EventList events={events} />}
      {events.length === 0 && !refusal && (
        <Empty>No event matches yet. Set From to “start” to see earlier events.</Empty>
      )}
    </Page>
  );
};
