import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';

import type { Execution } from '../../proto/gen/platformidl/admin/execution_pb.js';
import type { NodeExecution } from '../../proto/gen/platformidl/admin/node_execution_pb.js';
import { type ExecutionError, ExecutionError_ErrorKind } from '../../proto/gen/platformidl/core/execution_pb.js';
import { executionPhase, hasEnded } from '../look/phases.js';
import { LinkOut } from '../values/link-out.js';

const kindText = (kind: ExecutionError_ErrorKind): string =>
  kind === ExecutionError_ErrorKind.UNKNOWN ? '' : `${ExecutionError_ErrorKind[kind].toLowerCase()} error`;

type ErrorNoteProps = { readonly error: ExecutionError };

/** An error as the engine reported it: code, kind, worker, and its text whole. */
export const ErrorNote = ({ error }: ErrorNoteProps): ReactNode => (
  <div className="note tone-bad">
    <h2>
      {error.code || 'Failed'} <small>{[kindText(error.kind), error.worker].filter(Boolean).join(', ')}</small>
    </h2>
    <pre tabIndex={0}>{error.message}</pre>
    {error.errorUri !== '' && <LinkOut address={error.errorUri} text="The whole error" />}
  </div>
);

/** The error of an execution or of one of its nodes; one that is FAILING may have it already. */
export const errorOf = ({ closure }: Execution | NodeExecution): ExecutionError | undefined =>
  closure?.outputResult.case === 'error' ? closure.outputResult.value : undefined;

type WhyProps = { readonly execution: Execution };

/** The reason for which an execution has failed, was ended or is being ended; the page shows it above all its views. */
export const Why = ({ execution }: WhyProps): ReactNode => {
  const error = errorOf(execution);
  if (error !== undefined)
    return (
      <>
        <ErrorNote error={error} />
        <p className="quiet">
          <Link
            from="/projects/$project/domains/$domain/executions/$name"
            to="."
            search={(search) => ({ ...search, view: 'compare' })}
          >
            What changed since the last good one?
          </Link>
        </p>
      </>
    );
  const result = execution.closure?.outputResult;
  if (result?.case !== 'abortMetadata') return null;
  const { cause, principal } = result.value;
  const heading = hasEnded(executionPhase(execution.closure?.phase)) ? 'Ended' : 'Termination requested';
  return (
    <div className="note tone-stopped">
      <h2>
        {heading}
        {principal !== '' && ` by ${principal}`}
      </h2>
      <pre tabIndex={0}>{cause || 'No cause was given.'}</pre>
    </div>
  );
};
