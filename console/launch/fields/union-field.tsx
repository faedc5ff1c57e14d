import { type ReactNode, useState } from 'react';

import { unionLiteral } from '../../../interface/values/literal-of.js';
import { typeInWords } from '../../../interface/values/type-text.js';
import type { LiteralType } from '../../../proto/gen/platformidl/core/types_pb.js';
import type { PartsProps } from './entry.js';
import { entryOfVariant, valueInUnion, variantIndex } from './variants.js';

type UnionFieldProps = PartsProps & { readonly variants: readonly LiteralType[] };

/** A value of one of several types, which is chosen first. */
export const UnionField = ({ id, label, variants, initial, change, Part }: UnionFieldProps): ReactNode => {
  const [initialIndex] = useState(() => variantIndex(variants, initial));
  const [at, setAt] = useState(initialIndex);
  const [first] = useState(initial);
  const type = variants[at];
  const choose = (next: number): void => {
    setAt(next);
    change(entryOfVariant(variants[next], next === initialIndex ? first : undefined));
  };
  if (!type) return null;
  return (
    <div className="one-of">
      <select
        className="field"
        aria-label={`Type of ${label}`}
        value={at}
        onChange={(event) => choose(Number(event.target.value))}
      >
        {variants.map((variant, index) => (
          <option key={index} value={index}>
            {typeInWords(variant)}
          </option>
        ))}
      </select>
      <Part
        key={at}
        id={id}
        label={label}
        type={type}
        initial={at === initialIndex ? valueInUnion(first) : undefined}
        change={(entry) => change(entry.literal ? { literal: unionLiteral(type, entry.literal) } : entry)}
      />
    </div>
  );
};
