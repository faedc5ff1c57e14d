import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';

import type { Execution } from '../../proto/gen/platformidl/admin/execution_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { DataTable } from '../look/data-table.js';
import { Ago, Lasting } from '../look/moments.js';
import { Card } from '../look/page.js';
import { PhaseBadge } from '../look/phase-badge.js';
import { executionPhase, hasEnded } from '../look/phases.js';
import { QueryResult } from '../look/query-result.js';
import { lengthOf, msOf } from '../look/times.js';
import { newestExecutions } from '../server/executions.js';
import type { Named } from '../server/ids.js';
import { rpcQuery } from '../server/queries.js';

const SHOWN = 5;

const Run = ({ execution: { id, closure } }: { readonly execution: Execution }): ReactNode => {
  const { project = '', domain = '', name = '' } = id ?? {};
  const phase = executionPhase(closure?.phase);
  return (
    <tr>
      <td>
        <PhaseBadge phase={phase} />
      </td>
      <td>
        <Link to="/projects/$project/domains/$domain/executions/$name" params={{ project, domain, name }}>
          {name}
        </Link>
      </td>
      <td>{closure?.workflowId?.version}</td>
      <td>
        <Ago at={msOf(closure?.createdAt)} />
      </td>
      <td>
        <Lasting from={msOf(closure?.startedAt)} ms={hasEnded(phase) ? lengthOf(closure?.duration) : undefined} />
      </td>
    </tr>
  );
};

type LastRunsProps = {
  readonly id: Named;
  /** The filters that select the executions of the definition. */
  readonly filters: string;
  /** The text in place of the executions when there are none. */
  readonly none: string;
};

/** The newest executions of a definition that are not archived. */
export const LastRuns = ({ id: { project, domain }, filters, none }: LastRunsProps): ReactNode => {
  const newest = newestExecutions({ project, domain }, SHOWN);
  const runs = useQuery(rpcQuery(AdminService.method.listExecutions, { ...newest, filters }));
  return (
    <Card title="Last runs">
      <QueryResult query={runs}>
        {({ executions }) =>
          executions.length === 0 ? (
            <p className="card-body quiet">{none}</p>
          ) : (
            <DataTable label="Last runs" columns={['Phase', 'Execution', 'Version', 'Created', 'Duration']}>
              {executions.map((execution) => (
                <Run key={execution.id?.name} execution={execution} />
              ))}
            </DataTable>
          )
        }
      </QueryResult>
    </Card>
  );
};
