import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';

import type { Execution } from '../../../proto/gen/platformidl/admin/execution_pb.js';
import { ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { executionPhase, hasEnded, toneOf } from '../../look/phases.js';
import type { Named } from '../../server/ids.js';
import { useMay } from '../../server/permissions.js';
import { ArchiveExecution } from './archive.js';
import { Recover } from './recover.js';
import { Signals } from './signals.js';
import { Terminate } from './terminate.js';

const Relaunch = ({ id, execution }: { readonly id: Named; readonly execution: Execution }): ReactNode => {
  const plan = execution.spec?.launchPlan;
  if (!plan) return null;
  const kind = plan.resourceType === ResourceType.TASK ? 'tasks' : 'launch_plans';
  return (
    <Link
      className="button"
      to="/projects/$project/domains/$domain/launch/$kind/$name"
      params={{ project: id.project, domain: id.domain, kind, name: plan.name }}
      search={{ version: plan.version, from: id.name }}
    >
      Relaunch …
    </Link>
  );
};

type ActionsProps = { readonly execution: Execution };

/** The actions that the phase of an execution allows. People without the permission to execute see none. */
export const Actions = ({ execution }: ActionsProps): ReactNode => {
  const { project = '', domain = '', name = '' } = execution.id ?? {};
  const id = { project, domain, name };
  if (!useMay('execute', id)) return null;
  const phase = executionPhase(execution.closure?.phase);
  const isBroken = hasEnded(phase) && toneOf(phase) !== 'good';
  return (
    <>
      {!hasEnded(phase) && <Signals id={id} />}
      {isBroken && <Recover id={id} />}
      <Relaunch id={id} execution={execution} />
      {hasEnded(phase) ? <ArchiveExecution id={id} execution={execution} /> : <Terminate id={id} />}
    </>
  );
};
