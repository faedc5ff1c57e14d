import './node.css';

import { equals } from '@bufbuild/protobuf';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';

import type { NodeExecution } from '../../../proto/gen/platformidl/admin/node_execution_pb.js';
import { CatalogCacheStatus } from '../../../proto/gen/platformidl/core/catalog_pb.js';
import { type ExecutionError, ExecutionErrorSchema } from '../../../proto/gen/platformidl/core/execution_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { enumText } from '../../look/enum-text.js';
import { QueryResult } from '../../look/query-result.js';
import { Ago, Lasting } from '../../look/moments.js';
import { Card, Facts } from '../../look/page.js';
import { PhaseBadge } from '../../look/phase-badge.js';
import { hasEnded, nodePhase } from '../../look/phases.js';
import { lengthOf, msOf } from '../../look/times.js';
import { rpcQuery } from '../../server/queries.js';
import { ExecutionLink } from '../links.js';
import type { ExecutionAsOf } from '../moment.js';
import { useShownError } from '../shown-error.js';
import { errorOf, ErrorNote } from '../why.js';
import { Attempts } from './attempts.js';
import { Deck } from './deck.js';
import { NodeData } from './node-data.js';

const cacheText = ({ closure }: NodeExecution): string => {
  if (closure?.targetMetadata.case !== 'taskNodeMetadata') return '';
  const { cacheStatus } = closure.targetMetadata.value;
  return cacheStatus === CatalogCacheStatus.CACHE_DISABLED ? '' : enumText(CatalogCacheStatus[cacheStatus]);
};

const Launched = ({ closure }: NodeExecution): ReactNode =>
  closure?.targetMetadata.case === 'workflowNodeMetadata' && closure.targetMetadata.value.executionId ? (
    <ExecutionLink id={closure.targetMetadata.value.executionId} />
  ) : (
    ''
  );

type NodeFactsProps = { readonly node: NodeExecution; readonly asOf: string };

/** The facts of a node; a past state says nothing of a time up to now. */
const NodeFacts = ({ node, asOf }: NodeFactsProps): ReactNode => {
  const { closure } = node;
  const isOver = hasEnded(nodePhase(closure?.phase));
  return (
    <Facts
      facts={[
        ['Started', <Ago at={msOf(closure?.startedAt)} />],
        [
          'Duration',
          <Lasting
            from={isOver || asOf !== '' ? undefined : msOf(closure?.startedAt)}
            ms={isOver ? lengthOf(closure?.duration) : undefined}
          />,
        ],
        ['Launched', Launched(node)],
        ['Cache', cacheText(node)],
        ['Retry group', node.metadata?.retryGroup],
      ]}
    />
  );
};

type NodeErrorProps = { readonly error: ExecutionError };

/** The error of a node; where the page shows the same error for the execution, a sentence that says so. */
const NodeError = ({ error }: NodeErrorProps): ReactNode => {
  const shown = useShownError();
  if (shown === undefined || !equals(ExecutionErrorSchema, error, shown)) return <ErrorNote error={error} />;
  return <p className="quiet">The execution has failed with the error of this node, which is shown above.</p>;
};

type NodePanelProps = ExecutionAsOf & { readonly nodeId: string };

/** One node: its facts, its error, then its attempts with their logs, then its deck, its inputs and its outputs. */
export const NodePanel = ({ id, asOf, nodeId }: NodePanelProps): ReactNode => {
  const nodeExecutionId = { nodeId, executionId: id };
  const node = useQuery(rpcQuery(AdminService.method.getNodeExecution, { id: nodeExecutionId, asOf }));
  return (
    <aside className="panel" aria-label={`Node ${nodeId}`}>
      <QueryResult query={node}>
        {(answer) => {
          const error = errorOf(answer);
          return (
            <>
              <Card title={answer.id?.nodeId} beside={<PhaseBadge phase={nodePhase(answer.closure?.phase)} />}>
                <NodeFacts node={answer} asOf={asOf} />
              </Card>
              {error && <NodeError error={error} />}
              <Attempts id={id} asOf={asOf} nodeId={nodeId} nodeError={error} />
              <Deck node={answer} />
              <NodeData id={id} asOf={asOf} nodeId={nodeId} />
            </>
          );
        }}
      </QueryResult>
    </aside>
  );
};
