import { Link, useLocation } from '@tanstack/react-router';
import type { ReactNode } from 'react';

import { useCurrentInView } from '../look/current-in-view.js';
import type { Scope } from '../server/ids.js';

const SCOPED = [
  ['/projects/$project/domains/$domain/executions', 'Executions'],
  ['/projects/$project/domains/$domain/workflows', 'Workflows'],
  ['/projects/$project/domains/$domain/tasks', 'Tasks'],
  ['/projects/$project/domains/$domain/launch_plans', 'Launch plans'],
  ['/projects/$project/domains/$domain/schedules', 'Schedules'],
  ['/projects/$project/domains/$domain/attributes', 'Attributes'],
] as const;

type NavigationProps = { readonly scope: Scope | undefined };

export const Navigation = ({ scope }: NavigationProps): ReactNode => (
  <nav
    ref={useCurrentInView(useLocation({ select: ({ pathname }) => pathname }))}
    className="navigation"
    aria-label="Main"
  >
    <Link to="/" activeOptions={{ exact: true }}>
      Home
    </Link>
    {scope &&
      SCOPED.map(([to, text]) => (
        <Link key={to} to={to} params={scope} activeOptions={{ includeSearch: false }}>
          {text}
        </Link>
      ))}
    <Link to="/events">Events</Link>
    <Link to="/audit">Audit</Link>
    <Link to="/operate">Operate</Link>
  </nav>
);
