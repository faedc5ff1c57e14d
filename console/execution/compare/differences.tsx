import { type JsonValue, toJson } from '@bufbuild/protobuf';
import { type Value, ValueSchema } from '@bufbuild/protobuf/wkt';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';

import {
  type EntityDiff,
  EntityDiff_Kind,
  HistoryEntity,
  HistoryService,
} from '../../../proto/gen/platformidl/eventlog/history_pb.js';
import { DataTable } from '../../look/data-table.js';
import { QueryResult } from '../../look/query-result.js';
import { Empty } from '../../look/notes.js';
import { Card } from '../../look/page.js';
import { rpcQuery } from '../../server/queries.js';
import type { ExecutionAsOf } from '../moment.js';

const SHOWN = 200;

const subjectOf = ({ entity, nodeId, attempt }: EntityDiff): string => {
  if (entity === HistoryEntity.NODE) return `Node ${nodeId}`;
  if (entity === HistoryEntity.TASK) return `Task of ${nodeId}, attempt ${attempt + 1}`;
  return 'Execution';
};

const KINDS: Readonly<Record<EntityDiff_Kind, string>> = {
  [EntityDiff_Kind.KIND_UNSPECIFIED]: '',
  [EntityDiff_Kind.CHANGED]: 'differs',
  [EntityDiff_Kind.ADDED]: 'only here',
  [EntityDiff_Kind.REMOVED]: 'only there',
};

const textOf = (value: Value | undefined): string => {
  if (!value) return '–';
  const json: JsonValue = toJson(ValueSchema, value);
  return typeof json === 'string' ? json : JSON.stringify(json, null, 1);
};

/** Ids, times and addresses differ between any two executions, and say nothing. */
const isNoise = (path: string): boolean => /(?:\/id\/|At$|[uU]ri$|\/id$|\/token)/u.test(path);

const Entity = ({ diff }: { readonly diff: EntityDiff }): ReactNode => {
  const fields = diff.fields.filter(({ path }) => !isNoise(path));
  if (diff.kind === EntityDiff_Kind.CHANGED && fields.length === 0) return null;
  return (
    <Card title={subjectOf(diff)} beside={<span className="label">{KINDS[diff.kind]}</span>}>
      {diff.kind === EntityDiff_Kind.CHANGED && (
        <div className="differences">
          <DataTable label={subjectOf(diff)} columns={['Field', 'There', 'Here']}>
            {fields.map(({ path, before, after }) => (
              <tr key={path}>
                <td className="mono">{path.slice(1)}</td>
                <td className="before">
                  <pre>{textOf(before)}</pre>
                </td>
                <td className="after">
                  <pre>{textOf(after)}</pre>
                </td>
              </tr>
            ))}
          </DataTable>
        </div>
      )}
    </Card>
  );
};

type DifferencesProps = {
  readonly first: { readonly name: string; readonly asOf: string };
  readonly second: ExecutionAsOf;
};

/** The entities and fields that differ, from the first moment to the second. */
export const Differences = ({ first, second }: DifferencesProps): ReactNode => {
  const { project, domain, name } = second.id;
  const diff = useQuery(
    rpcQuery(HistoryService.method.diff, {
      id: { project, domain, name: first.name },
      asOf: first.asOf,
      otherName: name,
      otherAsOf: second.asOf,
      limit: SHOWN,
    }),
  );
  return (
    <QueryResult query={diff}>
      {({ entities }) =>
        entities.length === 0 ? (
          <Empty>Nothing differs.</Empty>
        ) : (
          entities.map((each) => <Entity key={`${each.entity} ${each.nodeId} ${each.attempt}`} diff={each} />)
        )
      }
    </QueryResult>
  );
};
