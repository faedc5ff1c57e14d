import { create } from '@bufbuild/protobuf';
import type { ReactNode } from 'react';

import { jsonOf } from '../../../interface/values/json-of.js';
import { literalOf } from '../../../interface/values/literal-of.js';
import { Problem } from '../../../interface/values/problem.js';
import { type Literal, LiteralSchema } from '../../../proto/gen/platformidl/core/literals_pb.js';
import type { LiteralType } from '../../../proto/gen/platformidl/core/types_pb.js';

/** The state of a field: a value, a problem in words, or neither while it is empty. */
export type Entry = { readonly literal?: Literal; readonly problem?: string };

/** The entry of a part of a value, and the name of the part in messages. */
type NamedEntry = readonly [name: string, entry: Entry];

/** The properties of each field. */
export type FieldProps = {
  /** The id of the element that the label of the field names. */
  readonly id: string;
  /** The name of the field for screen readers. */
  readonly label: string;
  readonly type: LiteralType;
  /** The value that the field shows at first; it is sent as it is, unless it is changed. */
  readonly initial: Literal | undefined;
  readonly change: (entry: Entry) => void;
};

/** The properties of a field whose value has parts. */
export type PartsProps = FieldProps & {
  /** Renders the field of a part, of any type. */
  readonly Part: (props: FieldProps) => ReactNode;
};

/** The entry for a value as JSON; its problem where the type does not allow the value. */
export const entryOfJson = (type: LiteralType, value: unknown): Entry => {
  try {
    return { literal: literalOf(type, value) };
  } catch (error) {
    if (error instanceof Problem) return { problem: error.message };
    throw error;
  }
};

/** The first problem of the parts; an empty part is one. */
const problemIn = (parts: readonly NamedEntry[]): string | undefined =>
  parts
    .map(([name, { literal, problem }]) => (literal ? undefined : `${name}: ${problem ?? 'a value is needed'}`))
    .find((problem) => problem !== undefined);

const literalsIn = (parts: readonly NamedEntry[]): readonly (readonly [string, Literal])[] =>
  parts.flatMap(([name, { literal }]) => (literal ? [[name, literal] as const] : []));

/** The entry of a list of elements. */
export const entryOfList = (elements: readonly Entry[]): Entry => {
  const parts = elements.map((entry, at): NamedEntry => [`element ${at + 1}`, entry]);
  const problem = problemIn(parts);
  if (problem !== undefined) return { problem };
  const literals = literalsIn(parts).map(([, literal]) => literal);
  return { literal: create(LiteralSchema, { value: { case: 'collection', value: { literals } } }) };
};

/** The entry of a map with these keys. */
export const entryOfMap = (parts: readonly NamedEntry[]): Entry => {
  const twice = parts.find(([key], at) => parts.findIndex(([other]) => other === key) !== at)?.[0];
  const problem = twice === undefined ? problemIn(parts) : `the key “${twice}” is there twice`;
  if (problem !== undefined) return { problem };
  const literals = Object.fromEntries(literalsIn(parts));
  return { literal: create(LiteralSchema, { value: { case: 'map', value: { literals } } }) };
};

/** The entry of a struct with these members. Empty members are left out; those in `required` must not be empty. */
export const entryOfStruct = (type: LiteralType, parts: readonly NamedEntry[], required: readonly string[]): Entry => {
  const given = parts.filter(
    ([name, { literal, problem }]) => literal !== undefined || problem !== undefined || required.includes(name),
  );
  const problem = problemIn(given);
  if (problem !== undefined) return { problem };
  return entryOfJson(type, Object.fromEntries(literalsIn(given).map(([name, literal]) => [name, jsonOf(literal)])));
};
