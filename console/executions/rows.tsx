import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, type RefObject, useEffect, useMemo, useRef } from 'react';

import type { Execution } from '../../proto/gen/platformidl/admin/execution_pb.js';
import { type CreatedRange, rangeOfRows } from './execution-list.js';
import { lastingOf } from './lasting.js';
import { Row } from './row.js';

const ROW_PX = 52;
const OVERSCAN = 12;
/** The next page is asked for when a row is rendered that is nearer to the end of the list than this. */
const LOAD_AHEAD_ROWS = 200;

const COLUMNS = ['Phase', 'Name', 'Workflow', 'Created', 'Duration'];

const longestOf = (executions: readonly Execution[]): number =>
  executions.reduce((longest, execution) => Math.max(longest, lastingOf(execution, Date.now())), 1);

type RowsProps = {
  readonly executions: readonly Execution[];
  readonly more: (() => void) | undefined;
  /** Gets the range of the rendered rows. */
  readonly inView: RefObject<CreatedRange>;
  /** Called when the list is first shown, and each time it rests after it was scrolled. */
  readonly readAgain: () => void;
};

/** The list of executions. It renders only the rows in or near the view, and asks for the next page near its end. */
export const Rows = ({ executions, more, inView, readAgain }: RowsProps): ReactNode => {
  const bodyRef = useRef<HTMLDivElement>(null);
  const virtualizer = useWindowVirtualizer({
    count: executions.length,
    estimateSize: () => ROW_PX,
    overscan: OVERSCAN,
    scrollMargin: bodyRef.current?.offsetTop ?? 0,
    initialRect: { width: 0, height: window.innerHeight },
  });
  const shown = virtualizer.getVirtualItems();
  const first = shown[0]?.index ?? 0;
  const last = shown.at(-1)?.index ?? 0;
  useEffect(() => {
    if (last > executions.length - LOAD_AHEAD_ROWS) more?.();
  }, [last, executions.length, more]);
  useEffect(() => {
    inView.current = rangeOfRows(executions, first, last);
  });
  const { isScrolling } = virtualizer;
  useEffect(() => {
    if (!isScrolling) readAgain();
  }, [isScrolling, readAgain]);
  const longest = useMemo(() => longestOf(executions), [executions]);
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
