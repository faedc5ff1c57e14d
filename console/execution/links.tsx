import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';

import {
  type Identifier,
  ResourceType,
  type WorkflowExecutionIdentifier,
} from '../../proto/gen/platformidl/core/identifier_pb.js';

type ExecutionLinkProps = { readonly id: WorkflowExecutionIdentifier };

export const ExecutionLink = ({ id }: ExecutionLinkProps): ReactNode => (
  <Link
    to="/projects/$project/domains/$domain/executions/$name"
    params={{ project: id.project, domain: id.domain, name: id.name }}
  >
    {id.name}
  </Link>
);

const PLACES = {
  [ResourceType.TASK]: '/projects/$project/domains/$domain/tasks/$name',
  [ResourceType.WORKFLOW]: '/projects/$project/domains/$domain/workflows/$name',
  [ResourceType.LAUNCH_PLAN]: '/projects/$project/domains/$domain/launch_plans/$name',
} as const;

type VersionLinkProps = { readonly id: Identifier };

/** The name and version of a task, workflow or launch plan, leading to it. */
export const VersionLink = ({ id: { resourceType, project, domain, name, version } }: VersionLinkProps): ReactNode => {
  const to = resourceType in PLACES ? PLACES[resourceType as keyof typeof PLACES] : undefined;
  const text = (
    <>
      {name} <span className="quiet">{version}</span>
    </>
  );
  if (to === undefined) return text;
  return (
    <Link to={to} params={{ project, domain, name }} search={{ version }}>
      {text}
    </Link>
  );
};
