import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';

import type { Scope } from '../server/ids.js';

const EXECUTION = /^execution-([^:]+):([^:]+):(.+)$/u;

/** Search parameters of the list of events, for the events of an execution, or of the category of the stream. */
const selectionOf = (stream: string, scope: Scope | undefined): Readonly<Record<string, string>> => {
  const [, project, domain, name] = EXECUTION.exec(stream) ?? [];
  if (project !== undefined && domain !== undefined && name !== undefined) return { project, domain, name };
  return { ...scope, categories: stream.split('-', 1)[0] ?? '' };
};

type EventLinkProps = {
  readonly stream: string;
  readonly position: bigint;
  /** The project and domain of the event: the permission to read them is then enough to follow the link. */
  readonly scope?: Scope | undefined;
};

/** The position of an event, as a link to the list of events that begins there. */
export const EventLink = ({ stream, position, scope }: EventLinkProps): ReactNode => (
  <Link
    to="/events"
    search={{ from: String(position), ...selectionOf(stream, scope) }}
    title={`Events of the log from position ${position}`}
  >
    {String(position)}
  </Link>
);
