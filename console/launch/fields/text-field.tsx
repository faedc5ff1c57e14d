import { type ReactNode, useState } from 'react';

import { jsonOf } from '../../../interface/values/json-of.js';
import type { Literal } from '../../../proto/gen/platformidl/core/literals_pb.js';
import { type LiteralType, SimpleType } from '../../../proto/gen/platformidl/core/types_pb.js';
import { jsonText } from '../../values/display-value.js';
import { type Entry, entryOfJson, type FieldProps } from './entry.js';

/** The inputs for values of simple types that are not written in one line. */
const INPUTS: Readonly<Partial<Record<SimpleType, 'choice' | 'lines' | 'nothing'>>> = {
  [SimpleType.BOOLEAN]: 'choice',
  [SimpleType.STRING]: 'lines',
  [SimpleType.NONE]: 'nothing',
};

/** The input for values of a type. */
const inputOf = ({ type }: LiteralType): 'choice' | 'line' | 'lines' | 'nothing' => {
  if (type.case === 'enumType') return 'choice';
  return (type.case === 'simple' ? INPUTS[type.value] : undefined) ?? 'line';
};

/** The most lines of a text that its field shows at once. */
const MAX_ROWS = 12;

/** An example of what is written for a type that has several ways to write it. */
const EXAMPLES: Readonly<Partial<Record<SimpleType, string>>> = {
  [SimpleType.DATETIME]: '2026-03-02T09:58:16Z',
  [SimpleType.DURATION]: '90s',
};

const exampleOf = ({ type }: LiteralType): string | undefined =>
  type.case === 'simple' ? EXAMPLES[type.value] : undefined;

const choicesOf = ({ type }: LiteralType): readonly string[] =>
  type.case === 'enumType' ? type.value.values : ['true', 'false'];

const textOf = (literal: Literal | undefined, isJson: boolean): string => {
  if (!literal) return '';
  const value = jsonOf(literal);
  return isJson || typeof value !== 'string' ? jsonText(value) : value;
};

const isText = ({ type }: LiteralType): boolean => type.case === 'simple' && type.value === SimpleType.STRING;

/** The entry for a text that is written as it is; an empty one is no value, except where the type is text. */
const entryOfLine = (type: LiteralType, text: string): Entry =>
  text === '' && !isText(type) ? {} : entryOfJson(type, text);

const entryOfText = (type: LiteralType, text: string): Entry => {
  if (text.trim() === '') return {};
  try {
    return entryOfJson(type, JSON.parse(text));
  } catch {
    return { problem: 'write JSON' };
  }
};

/** A value of any type, written as JSON. */
export const JsonField = ({ id, label, type, initial, change }: FieldProps): ReactNode => {
  const [text, setText] = useState(() => textOf(initial, true));
  return (
    <textarea
      id={id}
      aria-label={`${label} as JSON`}
      className="field mono"
      rows={4}
      value={text}
      spellCheck={false}
      onChange={(event) => {
        setText(event.target.value);
        change(entryOfText(type, event.target.value));
      }}
    />
  );
};

/**
 * A value that is written as it is, or chosen. A field for text keeps its line breaks, which an `input` would remove.
 */
export const TextField = ({ id, label, type, initial, change }: FieldProps): ReactNode => {
  const input = inputOf(type);
  const [text, setText] = useState(() => textOf(initial, false));
  if (input === 'nothing') return <span className="quiet">none</span>;
  const typed = (next: string): void => {
    setText(next);
    change(entryOfLine(type, next));
  };
  const common = { id, 'aria-label': label, className: 'field', value: text };
  if (input === 'line')
    return (
      <input
        {...common}
        placeholder={exampleOf(type)}
        spellCheck={false}
        onChange={(event) => typed(event.target.value)}
      />
    );
  if (input === 'lines')
    return (
      <textarea
        {...common}
        rows={Math.min(text.split('\n').length, MAX_ROWS)}
        spellCheck={false}
        onChange={(event) => typed(event.target.value)}
      />
    );
  return (
    <select {...common} onChange={(event) => typed(event.target.value)}>
      <option value="">choose …</option>
      {choicesOf(type).map((choice) => (
        <option key={choice}>{choice}</option>
      ))}
    </select>
  );
};
