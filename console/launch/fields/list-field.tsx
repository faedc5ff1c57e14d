import { type ReactNode, useState } from 'react';

import type { Literal } from '../../../proto/gen/platformidl/core/literals_pb.js';
import type { LiteralType } from '../../../proto/gen/platformidl/core/types_pb.js';
import { type Entry, entryOfList, type PartsProps } from './entry.js';

type Element = { readonly key: number; readonly initial: Literal | undefined; readonly entry: Entry };

const elementsOf = (initial: Literal | undefined): readonly Element[] =>
  initial?.value.case === 'collection'
    ? initial.value.value.literals.map((literal, key) => ({ key, initial: literal, entry: { literal } }))
    : [];

type ListFieldProps = PartsProps & { readonly element: LiteralType };

/** A list with a field for each element. */
export const ListField = ({ id, label, element, initial, change, Part }: ListFieldProps): ReactNode => {
  const [elements, setElements] = useState(() => elementsOf(initial));
  const replace = (next: readonly Element[]): void => {
    setElements(next);
    change(entryOfList(next.map(({ entry }) => entry)));
  };
  const nextKey = elements.reduce((most, { key }) => Math.max(most, key + 1), 0);
  return (
    <>
      {elements.map(({ key, initial: first }, at) => (
        <div key={key} className="field-part">
          <Part
            id={`${id}-${key}`}
            label={`${label}, element ${at + 1}`}
            type={element}
            initial={first}
            change={(entry) => replace(elements.map((each) => (each.key === key ? { ...each, entry } : each)))}
          />
          <button
            type="button"
            className="chip"
            aria-label={`Remove ${label}, element ${at + 1}`}
            onClick={() => replace(elements.filter((each) => each.key !== key))}
          >
            Remove
          </button>
        </div>
      ))}
      <button
        type="button"
        className="chip"
        onClick={() => replace([...elements, { key: nextKey, initial: undefined, entry: {} }])}
      >
        Add to {label}
      </button>
    </>
  );
};
