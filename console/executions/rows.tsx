import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useEffect, useRef } from 'react';

import type { Execution } from '../../proto/gen/platformidl/admin/execution_pb.js';
import { lengthOf } from '../look/times.js';
import { Row } from './row.js';

const ROW_PX = 52;
const OVERSCAN = 12;
const MORE_BEFORE = 30;

const COLUMNS = ['Phase', 'Name', 'Workflow', 'Started', 'Duration'];

type RowsProps = { readonly executions: readonly Execution[]; readonly more: (() => void) | undefined };

/** The rows that are in view, and the next page when its rows come near. */
export const Rows = ({ executions, more }: RowsProps): ReactNode => {
  const place = useRef<HTMLDivElement>(null);
  const virtual = useWindowVirtualizer({
    count: executions.length,
    estimateSize: () => ROW_PX,
    overscan: OVERSCAN,
    scrollMargin: place.current?.offsetTop ?? 0,
    initialRect: { width: 0, height: window.innerHeight },
  });
  const shown = virtual.getVirtualItems();
  const last = shown.at(-1)?.index ?? 0;
  useEffect(() => {
    if (last > executions.length - MORE_BEFORE) more?.();
  }, [last, executions.length, more]);
  const longest = Math.max(1, ...executions.map(({ closure }) => lengthOf(closure?.duration) ?? 0));
  return (
    <div className="card rows" role="table" aria-label="Executions" aria-rowcount={more ? -1 : executions.length + 1}>
      <div className="row row-head" role="row">
        {COLUMNS.map((column) => (
          <span key={column} role="columnheader">
            {column}
          </span>
        ))}
      </div>
      <div ref={place} role="rowgroup" className="row-space" style={{ height: `${virtual.getTotalSize()}px` }}>
        {shown.map(({ index, start }) => {
          const execution = executions[index];
          if (!execution) return null;
          const top = start - virtual.options.scrollMargin;
          return <Row key={execution.id?.name ?? index} {...{ execution, index, longest, top }} />;
        })}
      </div>
    </div>
  );
};
