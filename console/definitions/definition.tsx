import '../values/values.css';

import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link, useParams, useSearch } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense } from 'react';

import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { conditionToFind, withCondition } from '../executions/filter-text.js';
import { QueryResult } from '../look/query-result.js';
import { Ago } from '../look/moments.js';
import { Loading } from '../look/notes.js';
import { Nothing } from '../look/nothing.js';
import { Card, Page } from '../look/page.js';
import type { Named } from '../server/ids.js';
import { useLive } from '../server/live.js';
import { useMay } from '../server/permissions.js';
import { rpcQuery } from '../server/queries.js';
import { ArchiveName } from './archive-name.js';
import { Description } from './description.js';
import { Interface } from './typed-interface.js';
import { type Kind, KINDS } from './kinds.js';
import { LastRuns } from './last-runs.js';
import { PlanActions } from './plan-actions.js';
import { PlanFacts, PlanInputs } from './plan-facts.js';
import { VersionDifferences } from './version-differences.js';
import { MAX_VERSIONS, readVersions, type Version, type VersionPage } from './versions.js';

const WorkflowGraph = lazy(() =>
  import('../graph/workflow-graph.js').then(({ WorkflowGraph: component }) => ({ default: component })),
);

type DefinitionProps = { readonly kind: Kind; readonly id: Named };

const WorkflowGraphLoader = ({ id, version }: { readonly id: Named; readonly version: string }): ReactNode => {
  const workflow = useQuery(
    rpcQuery(AdminService.method.getWorkflow, { id: { ...id, version, resourceType: KINDS.workflows.resourceType } }),
  );
  return (
    <QueryResult query={workflow}>
      {({ closure }) =>
        closure?.compiledWorkflow?.primary && (
          <Suspense fallback={<Loading />}>
            <WorkflowGraph workflow={closure.compiledWorkflow.primary} />
          </Suspense>
        )
      }
    </QueryResult>
  );
};

type VersionListProps = DefinitionProps & { readonly page: VersionPage; readonly chosen: Version };

const VersionList = ({ kind, id, page: { versions, hasOlder }, chosen }: VersionListProps): ReactNode => (
  <Card title="Versions">
    <table className="table">
      <thead>
        <tr>
          <th>Version</th>
          <th>Registered</th>
          {kind === 'launch_plans' && <th>State</th>}
          <th>
            <span className="visually-hidden">Compare</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {versions.map(({ version, createdAt, isActive }) => (
          <tr key={version}>
            <td>
              <Link
                to={`/projects/$project/domains/$domain/${kind}/$name`}
                params={id}
                search={{ version }}
                aria-current={version === chosen.version ? 'true' : undefined}
              >
                {version}
              </Link>
            </td>
            <td>
              <Ago at={createdAt} />
            </td>
            {kind === 'launch_plans' && <td>{isActive ? 'active' : 'inactive'}</td>}
            <td>
              {version !== chosen.version && (
                <Link
                  to={`/projects/$project/domains/$domain/${kind}/$name`}
                  params={id}
                  search={{ version: chosen.version, with: version }}
                >
                  Compare with {chosen.version}
                </Link>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
    {hasOlder && (
      <p className="card-body quiet">
        Only the newest {MAX_VERSIONS} versions and the one that is shown are listed; there are older ones.
      </p>
    )}
  </Card>
);

/** The filter of the executions of a definition; it may find those of similar names, too: see `conditionToFind`. */
const executionsOf = (kind: Kind, { name }: Named): string =>
  withCondition('', conditionToFind(KINDS[kind].filteredBy, name));

const PageActions = ({ kind, id, chosen }: DefinitionProps & { readonly chosen: Version }): ReactNode => {
  const [mayRegister, mayExecute] = [useMay('register', id), useMay('execute', id)];
  return (
    <>
      <Link
        className="button"
        to="/projects/$project/domains/$domain/executions"
        params={id}
        search={{ filters: executionsOf(kind, id) }}
      >
        Its executions
      </Link>
      {kind === 'launch_plans' && mayRegister && <PlanActions id={id} version={chosen} />}
      {kind !== 'launch_plans' && mayRegister && <ArchiveName kind={kind} id={id} />}
      {mayExecute && (
        <Link
          className="button main"
          to="/projects/$project/domains/$domain/launch/$kind/$name"
          params={{ ...id, kind }}
          search={{ version: chosen.version }}
        >
          Launch …
        </Link>
      )}
    </>
  );
};

const DefinitionPage = ({ kind, id }: DefinitionProps): ReactNode => {
  const { version, with: comparedWith } = useSearch({ strict: false });
  const versions = useQuery({
    queryKey: ['versions', kind, id, version],
    queryFn: ({ signal }) => readVersions(kind, { id, version }, signal),
    placeholderData: keepPreviousData,
  });
  const { project, domain } = id;
  useLive({ project, domain }); // a name would follow an execution with this name
  return (
    <QueryResult query={versions} title={id.name}>
      {(page: VersionPage) => {
        const chosen = page.versions.find((each) => each.version === version) ?? page.versions[0];
        if (!chosen)
          return <Nothing title={id.name}>There is no {KINDS[kind].one.toLowerCase()} with this name.</Nothing>;
        const above = `${id.project} / ${id.domain} / ${KINDS[kind].title.toLowerCase()} · version ${chosen.version}`;
        return (
          <Page title={id.name} above={above} beside={<PageActions kind={kind} id={id} chosen={chosen} />}>
            {version !== undefined && version !== chosen.version && !versions.isPlaceholderData && (
              <p className="note tone-bad" role="alert">
                There is no version {version}; this is the newest one, {chosen.version}.
              </p>
            )}
            {chosen.plan && <PlanFacts plan={chosen.plan} />}
            {comparedWith !== undefined && (
              <VersionDifferences kind={kind} id={id} version={chosen.version} comparedWith={comparedWith} />
            )}
            <Description kind={kind} id={id} version={chosen.version} />
            {kind === 'workflows' && <WorkflowGraphLoader id={id} version={chosen.version} />}
            {chosen.plan && <PlanInputs plan={chosen.plan} />}
            <Interface inputs={chosen.inputs} outputs={chosen.outputs} />
            <LastRuns id={id} none={KINDS[kind].notRun} filters={executionsOf(kind, id)} />
            <VersionList kind={kind} id={id} page={page} chosen={chosen} />
          </Page>
        );
      }}
    </QueryResult>
  );
};

/** The page of the definition in the address. Each name has a page of its own, which keeps no versions of another. */
const DefinitionOfAddress = ({ kind }: { readonly kind: Kind }): ReactNode => {
  const { project = '', domain = '', name = '' } = useParams({ strict: false });
  return <DefinitionPage key={`${project} ${domain} ${name}`} kind={kind} id={{ project, domain, name }} />;
};

export const WorkflowView = (): ReactNode => <DefinitionOfAddress kind="workflows" />;

export const TaskView = (): ReactNode => <DefinitionOfAddress kind="tasks" />;

export const LaunchPlanView = (): ReactNode => <DefinitionOfAddress kind="launch_plans" />;
