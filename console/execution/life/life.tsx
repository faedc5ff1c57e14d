import './life.css';

import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { type ReactNode, useCallback } from 'react';

import { HistoryService, type Transition } from '../../../proto/gen/platformidl/eventlog/history_pb.js';
import { QueryResult } from '../../look/query-result.js';
import { Empty } from '../../look/notes.js';
import { queriesOf } from '../../server/queries.js';
import type { ExecutionAsOf } from '../moment.js';
import { Nodes } from '../nodes/nodes.js';
import { TimeSlider } from './time-slider.js';
import { TransitionList } from './transition-list.js';
import { indexAt } from './index-at.js';
import { readTransitions } from './transitions.js';

const route = getRouteApi('/projects/$project/domains/$domain/executions/$name');

type LivedProps = ExecutionAsOf & { readonly life: readonly Transition[] };

const Lived = ({ id, asOf, life }: LivedProps): ReactNode => {
  const navigate = route.useNavigate();
  const at = indexAt(life, asOf);
  const show = useCallback(
    (index: number): void => {
      const isLast = index >= life.length - 1;
      const position = isLast ? undefined : String(life[index]?.position);
      void navigate({ search: (search) => ({ ...search, asOf: position }), replace: true, resetScroll: false });
    },
    [life, navigate],
  );
  if (life.length === 0) return <Empty>Nothing was recorded.</Empty>;
  return (
    <>
      <TimeSlider life={life} at={at} show={show} />
      <TransitionList life={life} at={at} show={show} />
      <Nodes id={id} asOf={asOf} />
    </>
  );
};

/** Every transition of an execution, and the execution as of the one that is chosen. */
export const Life = ({ id, asOf }: ExecutionAsOf): ReactNode => {
  const life = useQuery({
    queryKey: [...queriesOf(HistoryService.method.listTransitions), id],
    queryFn: ({ signal }) => readTransitions(id, signal),
    placeholderData: keepPreviousData,
  });
  return (
    <QueryResult query={life}>
      {(answer: readonly Transition[]) => <Lived id={id} asOf={asOf} life={answer} />}
    </QueryResult>
  );
};
