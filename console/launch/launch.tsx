import './launch.css';
import '../values/values.css';

import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import type { ReactNode } from 'react';

import { type Kind, KINDS } from '../definitions/kinds.js';
import { QueryResult } from '../look/query-result.js';
import { Nothing } from '../look/nothing.js';
import { Page } from '../look/page.js';
import { useLive } from '../server/live.js';
import { type Launchable, readLaunchable } from './asked-inputs.js';
import { Form } from './form.js';

const route = getRouteApi('/projects/$project/domains/$domain/launch/$kind/$name');

const isKind = (kind: string): kind is Kind => Object.hasOwn(KINDS, kind);

type LaunchOfProps = { readonly kind: Kind };

const LaunchOf = ({ kind }: LaunchOfProps): ReactNode => {
  const { project, domain, name } = route.useParams();
  const { version = '', from } = route.useSearch();
  const scope = { project, domain };
  useLive(scope);
  const launchable = useQuery({
    queryKey: ['launchable', kind, project, domain, name, version, from],
    queryFn: ({ signal }) =>
      readLaunchable(
        { kind, id: { ...scope, name, version }, from: from === undefined ? undefined : { ...scope, name: from } },
        signal,
      ),
    gcTime: 0, // a form that is opened again may have another active version
    enabled: ({ state }) => state.data === undefined, // read once, so that a form keeps what its user has typed
    meta: { fixed: true }, // events do not repeat a read that failed
  });
  const { version: found = version } = launchable.data?.target ?? {};
  const above = `${project} / ${domain} · ${KINDS[kind].one.toLowerCase()}, version ${found}${from === undefined ? '' : `, with the inputs of ${from}`}`;
  return (
    <Page title={`Launch ${name}`} above={above}>
      <QueryResult query={launchable}>
        {(answer: Launchable) => (
          <Form key={`${kind} ${name} ${found} ${from ?? ''}`} scope={scope} launchable={answer} />
        )}
      </QueryResult>
    </Page>
  );
};

/** The form that launches a version of a workflow, task or launch plan. */
export const Launch = (): ReactNode => {
  const { kind } = route.useParams();
  return isKind(kind) ? (
    <LaunchOf kind={kind} />
  ) : (
    <Nothing title="Launch">Only workflows, tasks and launch plans are launched.</Nothing>
  );
};
