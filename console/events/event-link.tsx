import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';

const EXECUTION = /^execution-([^:]+):([^:]+):(.+)$/u;

/** Search parameters of the list of events that select the events of a stream, or of its category. */
const selectionOf = (stream: string): Readonly<Record<string, string>> => {
  const [, project, domain, name] = EXECUTION.exec(stream) ?? [];
  if (project !== undefined && domain !== undefined && name !== undefined) return { project, domain, name };
  return { categories: stream.split('-', 1)[0] ?? '' };
};

type EventLinkProps = { readonly stream: string; readonly position: bigint };

/** The position of an event, as a link to the list of events that begins there. */
export const EventLink = ({ stream, position }: EventLinkProps): ReactNode => (
  <Link
    to="/events"
    search={{ from: String(position), ...selectionOf(stream) }}
    title={`Events of the log from position ${position}`}
  >
    {String(position)}
  </Link>
);
