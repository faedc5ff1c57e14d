import './execution.css';

import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useState } from 'react';

import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { QueryResult } from '../look/query-result.js';
import { Loading } from '../look/notes.js';
import { rpcQuery } from '../server/queries.js';
import { useLive } from '../server/live.js';
import { Data } from './data.js';
import { Head } from './head.js';
import type { Named } from '../server/ids.js';
import type { ExecutionAsOf } from './moment.js';
import { nodeLevels } from './nodes/node-levels.js';
import { Nodes } from './nodes/nodes.js';
import { readLevel } from './nodes/read-level.js';
import { ShownLevelsProvider } from './nodes/shown-levels.js';
import { ShownErrorProvider } from './shown-error.js';
import { isViewName, Tabs, type ViewName } from './tabs.js';
import { errorOf, Why } from './why.js';

const Graph = lazy(() => import('./graph/graph.js').then(({ Graph: component }) => ({ default: component })));
const Compare = lazy(() => import('./compare/compare.js').then(({ Compare: component }) => ({ default: component })));
const Life = lazy(() => import('./life/life.js').then(({ Life: component }) => ({ default: component })));
const Messages = lazy(() => import('./messages.js').then(({ Messages: component }) => ({ default: component })));

const route = getRouteApi('/projects/$project/domains/$domain/executions/$name');

const VIEWS: Readonly<Record<ViewName, (props: ExecutionAsOf) => ReactNode>> = {
  nodes: Nodes,
  graph: Graph,
  data: Data,
  life: Life,
  compare: Compare,
  messages: Messages,
};

type ExecutionPageProps = { readonly id: Named };

const ExecutionPage = ({ id }: ExecutionPageProps): ReactNode => {
  const { view, asOf = '' } = route.useSearch();
  const name = isViewName(view) ? view : 'nodes';
  const query = useQuery({
    ...rpcQuery(AdminService.method.getExecution, { id, asOf }),
    placeholderData: keepPreviousData, // shows the previously chosen moment until the new one is read
  });
  const [levels] = useState(() => nodeLevels(readLevel));
  useLive(id, levels.listener);
  const View = VIEWS[name];
  return (
    <QueryResult query={query} title={id.name}>
      {(execution) => (
        <Head execution={execution} asOf={asOf}>
          <Why execution={execution} />
          <Tabs current={name} />
          <Suspense fallback={<Loading />}>
            <ShownLevelsProvider value={levels}>
              <ShownErrorProvider value={errorOf(execution)}>
                <View id={id} asOf={asOf} />
              </ShownErrorProvider>
            </ShownLevelsProvider>
          </Suspense>
        </Head>
      )}
    </QueryResult>
  );
};

/** One execution, now or as of a moment of its life. */
export const ExecutionView = (): ReactNode => {
  const id = route.useParams();
  return <ExecutionPage key={`${id.project} ${id.domain} ${id.name}`} id={id} />;
};
