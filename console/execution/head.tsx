import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';

import { type Execution, ExecutionMetadata_ExecutionMode } from '../../proto/gen/platformidl/admin/execution_pb.js';
import { enumText } from '../look/enum-text.js';
import { Ago, Lasting } from '../look/moments.js';
import { Card, Facts, Page } from '../look/page.js';
import { PhaseBadge } from '../look/phase-badge.js';
import { executionPhase, hasEnded } from '../look/phases.js';
import { lengthOf, msOf } from '../look/times.js';
import { Actions } from './act/actions.js';
import { ExecutionLink, VersionLink } from './links.js';

const modeText = (mode: ExecutionMetadata_ExecutionMode | undefined): string =>
  enumText(ExecutionMetadata_ExecutionMode[mode ?? 0] ?? '');

const labelsOf = ({ spec }: Execution): ReactNode => {
  const labels = Object.entries(spec?.labels?.values ?? {});
  if (labels.length === 0) return '';
  return labels.map(([key, value]) => (
    <span key={key} className="label">
      {key}={value}
    </span>
  ));
};

type HeadProps = { readonly execution: Execution; readonly asOf: string; readonly children: ReactNode };

const factsOf = ({ execution, asOf }: Omit<HeadProps, 'children'>): readonly (readonly [string, ReactNode])[] => {
  const { spec, closure } = execution;
  const { metadata } = spec ?? {};
  const phase = executionPhase(closure?.phase);
  const isOver = hasEnded(phase);
  return [
    ['Workflow', closure?.workflowId && <VersionLink id={closure.workflowId} />],
    ['Launch plan', spec?.launchPlan && <VersionLink id={spec.launchPlan} />],
    ['Created', <Ago at={msOf(closure?.createdAt)} />],
    [
      'Duration',
      <Lasting
        from={isOver || asOf !== '' ? undefined : msOf(closure?.startedAt)}
        ms={isOver ? lengthOf(closure?.duration) : undefined}
      />,
    ],
    ['Launched by', metadata?.principal],
    ['Mode', modeText(metadata?.mode)],
    [
      'Relaunched or recovered from',
      metadata?.referenceExecution && <ExecutionLink id={metadata.referenceExecution} />,
    ],
    [
      'Parent',
      metadata?.parentNodeExecution?.executionId && <ExecutionLink id={metadata.parentNodeExecution.executionId} />,
    ],
    ['Cluster', metadata?.systemMetadata?.executionCluster],
    ['Labels', labelsOf(execution)],
  ];
};

const AsOfNote = ({ asOf }: { readonly asOf: string }): ReactNode => (
  <p className="note tone-stopped as-of">
    <strong>As of {/^\d+$/u.test(asOf) ? `position ${asOf}` : asOf}.</strong>{' '}
    <Link
      from="/projects/$project/domains/$domain/executions/$name"
      to="."
      search={(search) => ({ ...search, asOf: undefined })}
    >
      Show it now
    </Link>
  </p>
);

/** The page of an execution, under a header with its name, phase, actions and facts. */
export const Head = ({ execution, asOf, children }: HeadProps): ReactNode => {
  const { project = '', domain = '', name = '' } = execution.id ?? {};
  const above = (
    <Link to="/projects/$project/domains/$domain/executions" params={{ project, domain }}>
      {project} / {domain} / executions
    </Link>
  );
  const beside = (
    <>
      <PhaseBadge phase={executionPhase(execution.closure?.phase)} />
      {asOf === '' && <Actions execution={execution} />}
    </>
  );
  return (
    <Page title={name} above={above} beside={beside}>
      {asOf !== '' && <AsOfNote asOf={asOf} />}
      <Card>
        <Facts facts={factsOf({ execution, asOf })} />
      </Card>
      {children}
    </Page>
  );
};
