import './life.css';

import { keepPreviousData, useQuery, useQueryClient, type UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';

import { HistoryService, type Transition } from '../../../proto/gen/platformidl/eventlog/history_pb.js';
import { QueryResult } from '../../look/query-result.js';
import { Empty } from '../../look/notes.js';
import type { Named } from '../../server/ids.js';
import { queriesOf } from '../../server/queries.js';
import type { ExecutionAsOf } from '../moment.js';
import { PastNodes } from './past-nodes.js';
import { TimeSlider } from './time-slider.js';
import { TransitionList } from './transition-list.js';
import { type ReadTransitions, readLife } from './transitions.js';
import { useMoment } from './use-moment.js';

const useLife = (id: Named): UseQueryResult<ReadTransitions> => {
  const client = useQueryClient();
  const queryKey = [...queriesOf(HistoryService.method.listTransitions), id];
  return useQuery({
    queryKey,
    queryFn: ({ signal }) => {
      const found = (life: ReadTransitions): void => void client.setQueryData(queryKey, life);
      return readLife(id, client.getQueryData(queryKey), { found, signal });
    },
    placeholderData: keepPreviousData,
  });
};

type LivedProps = ExecutionAsOf & { readonly life: readonly Transition[]; readonly isWhole: boolean };

const Lived = ({ id, asOf, life, isWhole }: LivedProps): ReactNode => {
  const { index, show, step } = useMoment(life, asOf);
  return (
    <>
      <TimeSlider life={life} index={index} step={step} isWhole={isWhole} />
      <TransitionList life={life} index={index} show={show} />
      <PastNodes id={id} asOf={asOf} life={life} index={index} />
    </>
  );
};

/** Every transition of an execution, and the execution as of the one that is chosen. */
export const Life = ({ id, asOf }: ExecutionAsOf): ReactNode => (
  <QueryResult query={useLife(id)}>
    {({ transitions, isWhole }: ReadTransitions) =>
      transitions.length === 0 ? (
        <Empty>Nothing was recorded.</Empty>
      ) : (
        <Lived id={id} asOf={asOf} life={transitions} isWhole={isWhole} />
      )
    }
  </QueryResult>
);
