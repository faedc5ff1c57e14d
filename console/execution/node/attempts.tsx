import { equals } from '@bufbuild/protobuf';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';

import type { TaskExecution } from '../../../proto/gen/platformidl/admin/task_execution_pb.js';
import {
  type ExecutionError,
  ExecutionErrorSchema,
  type TaskLog,
} from '../../../proto/gen/platformidl/core/execution_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { QueryResult } from '../../look/query-result.js';
import { Lasting } from '../../look/moments.js';
import { Card } from '../../look/page.js';
import { PhaseBadge } from '../../look/phase-badge.js';
import { hasEnded, taskPhase } from '../../look/phases.js';
import { lengthOf, msOf } from '../../look/times.js';
import { rpcQuery } from '../../server/queries.js';
import { LinkOut } from '../../values/link-out.js';
import { VersionLink } from '../links.js';
import type { ExecutionAsOf } from '../moment.js';
import { ErrorNote } from '../why.js';
import { MapGrid } from './map-grid.js';

const PAGE_ATTEMPTS = 100;

const Logs = ({ logs }: { readonly logs: readonly TaskLog[] }): ReactNode => (
  <ul className="logs">
    {logs.map(({ uri, name }, index) => (
      <li key={index}>
        <LinkOut address={uri} text={name || 'Log'} />
      </li>
    ))}
  </ul>
);

type AttemptProps = {
  readonly task: TaskExecution;
  readonly asOf: string;
  readonly nodeError: ExecutionError | undefined;
};

/** The time that an attempt took or, in the present, has taken up to now. */
const Took = ({ task: { closure }, asOf }: Pick<AttemptProps, 'task' | 'asOf'>): ReactNode => {
  const isOver = hasEnded(taskPhase(closure?.phase));
  return (
    <Lasting
      from={isOver || asOf !== '' ? undefined : msOf(closure?.startedAt)}
      ms={isOver ? lengthOf(closure?.duration) : undefined}
    />
  );
};

/** An attempt; its error only where it is not the one that is shown for the node above. */
const Attempt = ({ task, asOf, nodeError }: AttemptProps): ReactNode => {
  const { id, closure } = task;
  const phase = taskPhase(closure?.phase);
  const error = closure?.outputResult.case === 'error' ? closure.outputResult.value : undefined;
  const isShown = error !== undefined && nodeError !== undefined && equals(ExecutionErrorSchema, error, nodeError);
  const elements = closure?.metadata?.externalResources ?? [];
  return (
    <li className="attempt">
      <div className="attempt-head">
        <strong>Attempt {(id?.retryAttempt ?? 0) + 1}</strong>
        <PhaseBadge phase={phase} />
        <span className="quiet">
          <Took task={task} asOf={asOf} />
        </span>
      </div>
      {id?.taskId && (
        <p>
          <VersionLink id={id.taskId} />
        </p>
      )}
      {error !== undefined && !isShown && <ErrorNote error={error} />}
      {closure?.reason !== '' && <p className="quiet">{closure?.reason}</p>}
      <Logs logs={closure?.logs ?? []} />
      {elements.length > 0 && <MapGrid elements={elements} />}
    </li>
  );
};

type AttemptsProps = ExecutionAsOf & { readonly nodeId: string; readonly nodeError: ExecutionError | undefined };

/** The first 100 attempts of the task of a node, the newest of them first. */
export const Attempts = ({ id, asOf, nodeId, nodeError }: AttemptsProps): ReactNode => {
  const tasks = useQuery(
    rpcQuery(AdminService.method.listTaskExecutions, {
      nodeExecutionId: { nodeId, executionId: id },
      limit: PAGE_ATTEMPTS,
      asOf,
    }),
  );
  return (
    <QueryResult query={tasks}>
      {({ taskExecutions }) =>
        taskExecutions.length === 0 ? null : (
          <Card title="Attempts">
            <ol>
              {taskExecutions
                .toSorted((one, other) => (other.id?.retryAttempt ?? 0) - (one.id?.retryAttempt ?? 0))
                .map((task) => (
                  <Attempt
                    key={`${task.id?.taskId?.name ?? ''} ${task.id?.retryAttempt ?? 0}`}
                    task={task}
                    asOf={asOf}
                    nodeError={nodeError}
                  />
                ))}
            </ol>
          </Card>
        )
      }
    </QueryResult>
  );
};
