import type { ReactNode } from 'react';

type DataTableProps = {
  /** The name of the table for screen readers. */
  readonly label: string;
  /** The headers; an empty one is that of a column with buttons. */
  readonly columns: readonly string[];
  /** The rows. */
  readonly children: ReactNode;
};

/** A table that scrolls sideways where the screen is too narrow. */
export const DataTable = ({ label, columns, children }: DataTableProps): ReactNode => (
  <div className="scroll" role="region" aria-label={label} tabIndex={0}>
    <table className="table" aria-label={label}>
      <thead>
        <tr>
          {columns.map((column) => (
            <th key={column}>{column === '' ? <span className="visually-hidden">Actions</span> : column}</th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  </div>
);
