import { parse } from 'yaml';
import { literalOf } from '../../../../interface/values/literal-of.js';
import { Problem } from '../../../../interface/values/problem.js';
import { typeInWords } from '../../../../interface/values/type-text.js';
import type { Literal } from '../../../../proto/gen/platformidl/core/literals_pb.js';
import { type LiteralType, SimpleType } from '../../../../proto/gen/platformidl/core/types_pb.js';
import { OperatorError } from '../../../config/operator-errors.js';
import type { TypedVariable } from './typed-variable.js';

/** The values that a person gives: texts of `--input`, and values of a YAML document. */
export type GivenInputs = {
  readonly texts: Readonly<Record<string, string>>;
  readonly values: Readonly<Record<string, unknown>>;
};

/** Values of YAML as JSON has them; whole numbers beyond 2^53 become texts, which lose no digit. */
const plain = (value: unknown): unknown => {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, plain(each)]));
};

/** @throws {Problem} when the text is not YAML. */
const yamlOf = (text: string): unknown => {
  try {
    return plain(parse(text, { intAsBigInt: true }));
  } catch (error) {
    throw new Problem(`write YAML or JSON: ${error instanceof Error ? (error.message.split('\n', 1)[0] ?? '') : ''}`);
  }
};

const isStructured = ({ type }: LiteralType): boolean =>
  type.case === 'collectionType' ||
  type.case === 'mapValueType' ||
  (type.case === 'simple' && (type.value === SimpleType.STRUCT || type.value === SimpleType.NONE));

/** Makes the literal for a text: YAML for a type with parts, such as a list; for other types the text as it is. */
const literalOfText = (type: LiteralType, text: string): Literal => {
  if (isStructured(type)) return literalOf(type, yamlOf(text));
  if (type.type.case !== 'unionType') return literalOf(type, text);
  try {
    return literalOf(type, yamlOf(text));
  } catch {
    return literalOf(type, text); // such as a text that is no YAML, or a date
  }
};

type Result = { readonly name: string; readonly literal?: Literal; readonly problem?: string };

const resultOf = (input: TypedVariable, make: () => Literal): Result => {
  const { name, type } = input;
  try {
    return { name, literal: make() };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return { name, problem: `input ${name} (${typeInWords(type)}): ${error.message}` };
  }
};

const resultFor = (input: TypedVariable, { texts, values }: GivenInputs): Result => {
  const { name, type, isRequired } = input;
  const text = Object.hasOwn(texts, name) ? texts[name] : undefined; // an input may be called `constructor`
  if (text !== undefined) return resultOf(input, () => literalOfText(type, text));
  if (Object.hasOwn(values, name)) return resultOf(input, () => literalOf(type, plain(values[name])));
  return isRequired ? { name, problem: `input ${name} (${typeInWords(type)}) is needed: --input ${name}=…` } : { name };
};

const unknownNames = (asked: readonly TypedVariable[], { texts, values }: GivenInputs): readonly string[] => {
  const known = new Set(asked.map(({ name }) => name));
  const has = known.size === 0 ? 'it has none' : `it has ${[...known].join(', ')}`;
  return [...Object.keys(texts), ...Object.keys(values)]
    .filter((name) => !known.has(name))
    .map((name) => `input ${name}: there is no such input, or its value is fixed; ${has}`);
};

/**
 * The literals of the inputs that were given, by the typed interface.
 *
 * @throws {OperatorError} with a line for each input that is wrong, unknown or missing.
 */
export const literalsOf = (asked: readonly TypedVariable[], given: GivenInputs): Readonly<Record<string, Literal>> => {
  const results = asked.map((input) => resultFor(input, given));
  const problems = [...unknownNames(asked, given), ...results.flatMap(({ problem }) => problem ?? [])];
  if (problems.length > 0) throw new OperatorError(problems.join('\n'));
  return Object.fromEntries(results.flatMap(({ name, literal }) => (literal ? [[name, literal]] : [])));
};

/**
 * The literal of a text for one type.
 *
 * @throws {OperatorError} which names the value.
 */
export const literalOfValue = (name: string, type: LiteralType, text: string): Literal => {
  const { [name]: literal } = literalsOf([{ name, type, description: '', isRequired: true }], {
    texts: { [name]: text },
    values: {},
  });
  if (!literal) throw new OperatorError(`input ${name}: has no value`);
  return literal;
};
