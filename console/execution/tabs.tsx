import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';

import { useCurrentInView } from '../look/current-in-view.js';

const TABS = {
  nodes: 'Nodes',
  graph: 'Graph',
  data: 'Inputs and outputs',
  life: 'History',
  compare: 'Compare',
  messages: 'Notifications',
} as const;

/** The views of an execution. */
export type ViewName = keyof typeof TABS;

export const isViewName = (name: string | undefined): name is ViewName =>
  name !== undefined && Object.hasOwn(TABS, name);

type TabsProps = { readonly current: ViewName };

export const Tabs = ({ current }: TabsProps): ReactNode => (
  <nav ref={useCurrentInView(current)} className="tabs" aria-label="Views of the execution">
    {Object.entries(TABS).map(([name, text]) => (
      <Link
        key={name}
        from="/projects/$project/domains/$domain/executions/$name"
        to="."
        search={(search) => ({ ...search, view: name === 'nodes' ? undefined : name })}
        aria-current={name === current ? 'page' : undefined}
        activeProps={{}}
        activeOptions={{ exact: true }}
      >
        {text}
      </Link>
    ))}
  </nav>
);
