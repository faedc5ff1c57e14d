import { type ReactNode, useState } from 'react';

import { literalOf, unionLiteral } from '../../../interface/values/literal-of.js';
import { typeInWords } from '../../../interface/values/type-text.js';
import type { Literal } from '../../../proto/gen/platformidl/core/literals_pb.js';
import { type LiteralType, SimpleType } from '../../../proto/gen/platformidl/core/types_pb.js';
import type { PartsProps } from './entry.js';

const isNone = ({ type }: LiteralType): boolean => type.case === 'simple' && type.value === SimpleType.NONE;

const valueInUnion = (initial: Literal | undefined): Literal | undefined =>
  initial?.value.case === 'scalar' && initial.value.value.value.case === 'union'
    ? initial.value.value.value.value.value
    : initial;

const isNoneValue = (literal: Literal | undefined): boolean =>
  literal?.value.case === 'scalar' && literal.value.value.value.case === 'noneType';

/** The variant of a value; a value that is none may be without a union around it. */
const variantIndex = (variants: readonly LiteralType[], initial: Literal | undefined): number => {
  if (isNoneValue(valueInUnion(initial))) return Math.max(0, variants.findIndex(isNone));
  if (initial?.value.case !== 'scalar' || initial.value.value.value.case !== 'union') return 0;
  const { type } = initial.value.value.value.value;
  return Math.max(0, type ? variants.findIndex((variant) => typeInWords(variant) === typeInWords(type)) : 0);
};

type UnionFieldProps = PartsProps & { readonly variants: readonly LiteralType[] };

/** A value of one of several types, which is chosen first. */
export const UnionField = ({ id, label, variants, initial, change, Part }: UnionFieldProps): ReactNode => {
  const [initialIndex] = useState(() => variantIndex(variants, initial));
  const [at, setAt] = useState(initialIndex);
  const [value] = useState(() => valueInUnion(initial));
  const type = variants[at];
  const choose = (next: number): void => {
    setAt(next);
    const chosen = variants[next];
    change(chosen && isNone(chosen) ? { literal: unionLiteral(chosen, literalOf(chosen, null)) } : {});
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
        initial={at === initialIndex ? value : undefined}
        change={(entry) => change(entry.literal ? { literal: unionLiteral(type, entry.literal) } : entry)}
      />
    </div>
  );
};
