import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useEffect, useRef } from 'react';

import type { Execution } from '../../proto/gen/platformidl/admin/execution_pb.js';
import { lengthOf } from '../look/times.js';
import { Row } from './row.js';

const ROW_PX = 52;
const OVERSCAN = 12;
const LOAD_AHEAD_ROWS = 30;

const COLUMNS = ['Phase', 'Name', 'Workflow', 'Started', 'Duration'];

type RowsProps = { readonly executions: readonly Execution[]; readonly more: (() => void) | undefined };

/** The list of executions. It renders only the rows in view, and asks for the next page 30 rows before its end. */
export const Rows = ({ executions, more }: RowsProps): ReactNode => {
  const bodyRef = useRef<HTMLDivElement>(null);
  const virtualizer = useWindowVirtualizer({
    count: executions.length,
    estimateSize: () => ROW_PX,
    overscan: OVERSCAN,
    scrollMargin: bodyRef.current?.offsetTop ?? 0,
    initialRect: { width: 0, height: window.innerHeight },
  });
  const shown = virtualizer.getVirtualItems();
  const last = shown.at(-1)?.index ?? 0;
  useEffect(() => {
    if (last > executions.length - LOAD_AHEAD_ROWS) more?.();
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
      <div ref={bodyRef} role="rowgroup" className="row-space" style={{ height: `${virtualizer.getTotalSize()}px` }}>
        {shown.map(({ index, start }) => {
          const execution = executions[index];
          if (!execution) return null;
          const top = start - virtualizer.options.scrollMargin;
          return <Row key={execution.id?.name ?? index} {...{ execution, index, longest, top }} />;
        })}
      </div>
    </div>
  );
};
