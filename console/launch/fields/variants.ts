import { equals } from '@bufbuild/protobuf';

import { literalOf, unionLiteral } from '../../../interface/values/literal-of.js';
import { typeInWords } from '../../../interface/values/type-text.js';
import type { Literal } from '../../../proto/gen/platformidl/core/literals_pb.js';
import { type LiteralType, LiteralTypeSchema, SimpleType } from '../../../proto/gen/platformidl/core/types_pb.js';
import type { Entry } from './entry.js';

const isNone = ({ type }: LiteralType): boolean => type.case === 'simple' && type.value === SimpleType.NONE;

const isNoneValue = (literal: Literal | undefined): boolean =>
  literal?.value.case === 'scalar' && literal.value.value.value.case === 'noneType';

/** The value within a union; the literal itself without a union around it. */
export const valueInUnion = (literal: Literal | undefined): Literal | undefined =>
  literal?.value.case === 'scalar' && literal.value.value.value.case === 'union'
    ? literal.value.value.value.value.value
    : literal;

/**
 * The index of the variant of a value: the one with the same type, such as one of two dataclasses. A value may have its
 * type without metadata; then it is the first variant whose type reads the same in words. A value that is none may be
 * without a union around it. Without a value, it is the first variant that is not none: a field is empty until its
 * value none is chosen.
 */
export const variantIndex = (variants: readonly LiteralType[], literal: Literal | undefined): number => {
  if (!literal)
    return Math.max(
      0,
      variants.findIndex((variant) => !isNone(variant)),
    );
  if (isNoneValue(valueInUnion(literal))) return Math.max(0, variants.findIndex(isNone));
  if (literal.value.case !== 'scalar' || literal.value.value.value.case !== 'union') return 0;
  const { type } = literal.value.value.value.value;
  if (!type) return 0;
  const same = variants.findIndex((variant) => equals(LiteralTypeSchema, variant, type));
  return Math.max(0, same === -1 ? variants.findIndex((variant) => typeInWords(variant) === typeInWords(type)) : same);
};

/** The entry of a field whose variant was just chosen: the initial value, the value none, or an empty entry. */
export const entryOfVariant = (variant: LiteralType | undefined, initial: Literal | undefined): Entry => {
  if (initial) return { literal: initial };
  return variant && isNone(variant) ? { literal: unionLiteral(variant, literalOf(variant, null)) } : {};
};
