import { type ReactNode, useState } from 'react';

import type { Literal } from '../../../proto/gen/platformidl/core/literals_pb.js';
import type { LiteralType } from '../../../proto/gen/platformidl/core/types_pb.js';
import { type Entry, entryOfMap, type PartsProps } from './entry.js';

type Row = {
  readonly id: number;
  readonly key: string;
  readonly initial: Literal | undefined;
  readonly entry: Entry;
};

const rowsOf = (initial: Literal | undefined): readonly Row[] =>
  initial?.value.case === 'map'
    ? Object.entries(initial.value.value.literals).map(([key, literal], id) => ({
        id,
        key,
        initial: literal,
        entry: { literal },
      }))
    : [];

type MapFieldProps = PartsProps & { readonly value: LiteralType };

/** A map with a key and a field for each value. */
export const MapField = ({ id, label, value, initial, change, Part }: MapFieldProps): ReactNode => {
  const [rows, setRows] = useState(() => rowsOf(initial));
  const replace = (next: readonly Row[]): void => {
    setRows(next);
    change(entryOfMap(next.map(({ key, entry }) => [key, entry])));
  };
  const edit = (id: number, changes: Partial<Row>): void =>
    replace(rows.map((row) => (row.id === id ? { ...row, ...changes } : row)));
  const nextId = rows.reduce((most, row) => Math.max(most, row.id + 1), 0);
  return (
    <>
      {rows.map((row) => (
        <div key={row.id} className="field-part keyed">
          <input
            className="field"
            aria-label={`${label}, key`}
            placeholder="key"
            value={row.key}
            onChange={(event) => edit(row.id, { key: event.target.value })}
          />
          <Part
            id={`${id}-${row.id}`}
            label={`${label}, value of ${row.key}`}
            type={value}
            initial={row.initial}
            change={(entry) => edit(row.id, { entry })}
          />
          <button
            type="button"
            className="chip"
            aria-label={`Remove ${label}, key ${row.key}`}
            onClick={() => replace(rows.filter((each) => each.id !== row.id))}
          >
            Remove
          </button>
        </div>
      ))}
      <button
        type="button"
        className="chip"
        onClick={() => replace([...rows, { id: nextId, key: '', initial: undefined, entry: {} }])}
      >
        Add to {label}
      </button>
    </>
  );
};
