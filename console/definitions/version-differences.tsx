import '../execution/compare/compare.css';

import { type JsonValue, toJson } from '@bufbuild/protobuf';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';

import { LaunchPlanSchema } from '../../proto/gen/platformidl/admin/launch_plan_pb.js';
import { TaskSchema } from '../../proto/gen/platformidl/admin/task_pb.js';
import type { Workflow } from '../../proto/gen/platformidl/admin/workflow_pb.js';
import { WorkflowTemplateSchema } from '../../proto/gen/platformidl/core/workflow_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { DataTable } from '../look/data-table.js';
import { Card } from '../look/page.js';
import { QueryResult } from '../look/query-result.js';
import { call } from '../server/call.js';
import type { Named } from '../server/ids.js';
import { differencesOf } from './differences.js';
import { type Kind, KINDS } from './kinds.js';

const SHOWN = 200;

/** A workflow with its nodes, and the versions of its tasks, whose own differences are on their pages. */
const documentOfWorkflow = ({ closure }: Workflow): JsonValue => {
  const { primary, tasks = [] } = closure?.compiledWorkflow ?? {};
  const versions = tasks.flatMap(({ template }) => (template?.id ? [[template.id.name, template.id.version]] : []));
  const template = primary?.template ? toJson(WorkflowTemplateSchema, primary.template) : {};
  return { ...(template as object), tasks: Object.fromEntries(versions) as Record<string, string> };
};

const documentOf = async (kind: Kind, named: Named & { version: string }, signal: AbortSignal): Promise<JsonValue> => {
  const id = { ...named, resourceType: KINDS[kind].resourceType };
  switch (kind) {
    case 'workflows':
      return documentOfWorkflow(await call(AdminService.method.getWorkflow, { id }, signal));
    case 'tasks':
      return toJson(TaskSchema, await call(AdminService.method.getTask, { id }, signal));
    case 'launch_plans':
      return toJson(LaunchPlanSchema, await call(AdminService.method.getLaunchPlan, { id }, signal));
  }
};

type VersionDifferencesProps = {
  readonly kind: Kind;
  readonly id: Named;
  readonly version: string;
  readonly comparedWith: string;
};

/** The fields in which a version differs from another one. */
export const VersionDifferences = ({ kind, id, version, comparedWith }: VersionDifferencesProps): ReactNode => {
  const title = `Differences of ${version} from ${comparedWith}`;
  const differences = useQuery({
    queryKey: ['version differences', kind, id, version, comparedWith],
    queryFn: async ({ signal }) => {
      const [before, after] = await Promise.all(
        [comparedWith, version].map((each) => documentOf(kind, { ...id, version: each }, signal)),
      );
      return differencesOf(before ?? null, after ?? null);
    },
  });
  return (
    <Card title={title} className="differences">
      <QueryResult query={differences}>
        {(found) =>
          found.length === 0 ? (
            <p className="card-body quiet">Nothing differs.</p>
          ) : (
            <>
              <DataTable label={title} columns={['Field', comparedWith, version]}>
                {found.slice(0, SHOWN).map(({ path, before = '–', after = '–' }) => (
                  <tr key={path}>
                    <td className="mono">{path}</td>
                    <td className="before">
                      <pre>{before}</pre>
                    </td>
                    <td className="after">
                      <pre>{after}</pre>
                    </td>
                  </tr>
                ))}
              </DataTable>
              {found.length > SHOWN && (
                <p className="card-body quiet">
                  The first {SHOWN} of {found.length} are shown.
                </p>
              )}
            </>
          )
        }
      </QueryResult>
    </Card>
  );
};
