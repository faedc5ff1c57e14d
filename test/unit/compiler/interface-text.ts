import type { LiteralType } from '../../../proto/gen/platformidl/core/types_pb.js';
import * as t from '../../../services/compiler/types/types.js';

/** The words for types in the text of an interface. */
const TYPES: Readonly<Record<string, LiteralType>> = {
  integer: t.INTEGER,
  string: t.STRING,
  boolean: t.BOOLEAN,
  integers: t.collectionOf(t.INTEGER),
  'integer?': t.unionOf([t.INTEGER, t.NONE]),
  'integers|strings': t.unionOf([t.collectionOf(t.INTEGER), t.collectionOf(t.STRING)]),
};

const variables = (text: string): Record<string, LiteralType> =>
  Object.fromEntries(
    text
      .split(',')
      .map((each) => each.trim().split(' '))
      .flatMap(([type = '', name = '']) => (TYPES[type] ? [[name, TYPES[type]] as const] : [])),
  );

/**
 * The inputs and the outputs of an interface such as `integer a > string o`; `undefined` for a text without `>`, which
 * is not the name of a task.
 */
export const interfaceText = (name: string): [Record<string, LiteralType>, Record<string, LiteralType>] | undefined => {
  const [inputs, outputs] = name.split('>');
  return inputs === undefined || outputs === undefined ? undefined : [variables(inputs), variables(outputs)];
};
