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
import { messagePackText } from '../../values/display-value.js';
import type { ExecutionAsOf } from '../moment.js';
import { isNoise } from './noise.js';

const SHOWN = 200;

const subjectOf = ({ entity, nodeId, attempt }: EntityDiff): string => {
  if (entity === HistoryEntity.NODE) return `Node ${nodeId}`;
  if (entity === HistoryEntity.TASK) return `Task of ${nodeId}, attempt ${attempt + 1}`;
  return 'Execution';
};

/** The names of the two sides: of the executions, with their moments where these are not now. */
type Sides = readonly [first: string, second: string];

const sideOf = ({ name, asOf }: { readonly name: string; readonly asOf: string }): string =>
  asOf === '' ? name : `${name} as of ${asOf}`;

const kindText = (kind: EntityDiff_Kind, [first, second]: Sides): string => {
  if (kind === EntityDiff_Kind.ADDED) return `only in ${second}`;
  return kind === EntityDiff_Kind.REMOVED ? `only in ${first}` : 'differs';
};

const IN_BINARY = '/scalar/binary/value';

/** A value as text; structured data that is stored as MessagePack is shown as JSON. */
const textOf = (path: string, value: Value | undefined): string => {
  if (!value) return '–';
  const json: JsonValue = toJson(ValueSchema, value);
  if (typeof json !== 'string') return JSON.stringify(json, null, 1);
  return (path.endsWith(IN_BINARY) ? messagePackText(json) : undefined) ?? json;
};

/** The entities that differ in more than noise, with the fields that do. */
const withoutNoise = (entities: readonly EntityDiff[]): readonly EntityDiff[] =>
  entities
    .map((each) => ({ ...each, fields: each.fields.filter(({ path }) => !isNoise(path)) }))
    .filter(({ kind, fields }) => kind !== EntityDiff_Kind.CHANGED || fields.length > 0);

const Entity = ({ diff, sides }: { readonly diff: EntityDiff; readonly sides: Sides }): ReactNode => (
  <Card title={subjectOf(diff)} beside={<span className="label">{kindText(diff.kind, sides)}</span>}>
    {diff.kind === EntityDiff_Kind.CHANGED && (
      <div className="differences">
        <DataTable label={subjectOf(diff)} columns={['Field', ...sides]}>
          {diff.fields.map(({ path, before, after }) => (
            <tr key={path}>
              <td className="mono">{path.slice(1)}</td>
              <td className="before">
                <pre>{textOf(path, before)}</pre>
              </td>
              <td className="after">
                <pre>{textOf(path, after)}</pre>
              </td>
            </tr>
          ))}
        </DataTable>
      </div>
    )}
  </Card>
);

type DifferencesProps = {
  readonly first: { readonly name: string; readonly asOf: string };
  readonly second: ExecutionAsOf;
};

/** The entities and fields that differ, from the first moment to the second, among the first 200 entities that do. */
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
  const sides = [sideOf(first), sideOf({ name, asOf: second.asOf })] as const;
  return (
    <QueryResult query={diff}>
      {({ entities, token }) => {
        const shown = withoutNoise(entities);
        if (shown.length === 0 && token === '') return <Empty>Nothing differs, except ids, times and addresses.</Empty>;
        return (
          <>
            {shown.map((each) => (
              <Entity key={`${each.entity} ${each.nodeId} ${each.attempt}`} diff={each} sides={sides} />
            ))}
            {token !== '' && (
              <p className="quiet">
                There are more differences: only the first {SHOWN} nodes and attempts that differ were read, those that
                differ in ids, times or addresses alone among them.
              </p>
            )}
          </>
        );
      }}
    </QueryResult>
  );
};
