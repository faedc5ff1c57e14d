import { type ReactNode, useState } from 'react';

import type { Literal } from '../../proto/gen/platformidl/core/literals_pb.js';
import { type LiteralType, SimpleType } from '../../proto/gen/platformidl/core/types_pb.js';
import { jsonOf } from '../../interface/values/json-of.js';
import { literalOf, unionOf } from '../../interface/values/literal-of.js';
import { jsonText } from '../values/plain.js';
import { Problem } from '../../interface/values/problem.js';
import { typeText } from '../../interface/values/type-text.js';

/** The state of a field: a value, a problem in words, or neither while it is empty. */
export type Entry = { readonly literal?: Literal; readonly problem?: string };

type FieldProps = {
  readonly id: string;
  readonly type: LiteralType;
  /** The value that the field shows at first; it is sent as it is, unless it is changed. */
  readonly initial: Literal | undefined;
  readonly change: (entry: Entry) => void;
};

/** The input for values of a type. */
const inputOf = ({ type }: LiteralType): 'choice' | 'line' | 'json' | 'nothing' => {
  if (type.case === 'enumType') return 'choice';
  if (type.case === 'collectionType' || type.case === 'mapValueType') return 'json';
  if (type.case !== 'simple') return 'line';
  if (type.value === SimpleType.BOOLEAN) return 'choice';
  if (type.value === SimpleType.NONE) return 'nothing';
  return type.value === SimpleType.STRUCT ? 'json' : 'line';
};

const choicesOf = ({ type }: LiteralType): readonly string[] =>
  type.case === 'enumType' ? type.value.values : ['true', 'false'];

const textOf = (literal: Literal | undefined, isJson: boolean): string => {
  if (!literal) return '';
  const value = jsonOf(literal);
  return isJson || typeof value !== 'string' ? jsonText(value) : value;
};

const valueOf = (text: string, isJson: boolean): unknown => {
  if (!isJson) return text;
  try {
    return JSON.parse(text);
  } catch {
    throw new Problem('write JSON');
  }
};

const isText = ({ type }: LiteralType): boolean => type.case === 'simple' && type.value === SimpleType.STRING;

/** The entry for a text; an empty one is no value, except where the type is text. */
const entryOf = (type: LiteralType, text: string, isJson: boolean): Entry => {
  if (text === '' && !isText(type)) return {};
  try {
    return { literal: literalOf(type, valueOf(text, isJson)) };
  } catch (error) {
    if (error instanceof Problem) return { problem: error.message };
    throw error;
  }
};

const TypedInput = ({ id, type, initial, change }: FieldProps): ReactNode => {
  const input = inputOf(type);
  const [text, setText] = useState(() => textOf(initial, input === 'json'));
  const typed = (next: string): void => {
    setText(next);
    change(entryOf(type, next, input === 'json'));
  };
  if (input === 'nothing') return <span className="quiet">none</span>;
  if (input === 'choice')
    return (
      <select id={id} className="field" value={text} onChange={(event) => typed(event.target.value)}>
        <option value="">choose …</option>
        {choicesOf(type).map((choice) => (
          <option key={choice}>{choice}</option>
        ))}
      </select>
    );
  const common = { id, className: `field ${input === 'json' ? 'mono' : ''}`, value: text, spellCheck: false };
  return input === 'json' ? (
    <textarea {...common} rows={4} onChange={(event) => typed(event.target.value)} />
  ) : (
    <input {...common} onChange={(event) => typed(event.target.value)} />
  );
};

const variantIndex = (variants: readonly LiteralType[], initial: Literal | undefined): number => {
  if (initial?.value.case !== 'scalar' || initial.value.value.value.case !== 'union') return 0;
  const { type } = initial.value.value.value.value;
  return Math.max(0, type ? variants.findIndex((variant) => typeText(variant) === typeText(type)) : 0);
};

const valueInUnion = (initial: Literal | undefined): Literal | undefined =>
  initial?.value.case === 'scalar' && initial.value.value.value.case === 'union'
    ? initial.value.value.value.value.value
    : initial;

type UnionProps = FieldProps & { readonly variants: readonly LiteralType[] };

const UnionInput = ({ id, variants, initial, change }: UnionProps): ReactNode => {
  const [at, setAt] = useState(() => variantIndex(variants, initial));
  const type = variants[at];
  const choose = (next: number): void => {
    setAt(next);
    const chosen = variants[next];
    const isNone = chosen?.type.case === 'simple' && chosen.type.value === SimpleType.NONE;
    change(isNone ? { literal: unionOf(chosen, literalOf(chosen, null)) } : {});
  };
  if (!type) return null;
  return (
    <div className="one-of">
      <select
        className="field"
        aria-label="Type of the value"
        value={at}
        onChange={(event) => choose(Number(event.target.value))}
      >
        {variants.map((variant, index) => (
          <option key={typeText(variant)} value={index}>
            {typeText(variant)}
          </option>
        ))}
      </select>
      <TypedInput
        key={at}
        id={id}
        type={type}
        initial={at === variantIndex(variants, initial) ? valueInUnion(initial) : undefined}
        change={(entry) => change(entry.literal ? { literal: unionOf(type, entry.literal) } : entry)}
      />
    </div>
  );
};

/** The input of a value of any type of the interface. */
export const Field = (props: FieldProps): ReactNode =>
  props.type.type.case === 'unionType' ? (
    <UnionInput {...props} variants={props.type.type.value.variants} />
  ) : (
    <TypedInput {...props} />
  );
