import { yaml } from '../../../config/yaml.js';
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
    return plain(yaml().parse(text, { intAsBigInt: true }));
  } catch (error) {
    throw new Problem(`write YAML or JSON: ${error instanceof Error ? (error.message.split('\n', 1)[0] ?? '') : ''}`);
  }
};

const isStructured = ({ type }: LiteralType): boolean =>
  type.case === 'collectionType' ||
  type.case === 'mapValueType' ||
  (type.case === 'simple' && (type.value === SimpleType.STRUCT || type.value === SimpleType.NONE));

/**
 * Makes the literal for a text. It is read as YAML for lists, maps, structs and nothing, and taken as it is for other
 * types. For a union it is read as YAML, and taken as it is where that fits no variant.
 */
const literalOfText = (type: LiteralType, text: string): Literal => {
  if (isStructured(type)) return literalOf(type, yamlOf(text));
  if (type.type.case !== 'unionType') return literalOf(type, text);
  try {
    return literalOf(type, yamlOf(text));
  } catch {
    return literalOf(type, text); // a text that is no YAML, or one such as `12`, which YAML reads as a number
  }
};

type Result = { readonly name: string; readonly literal?: Literal; readonly problem?: string };

const problemText = (subject: string, type: LiteralType, thrown: unknown): string => {
  if (!(thrown instanceof Problem)) throw thrown;
  return `${subject} (${typeInWords(type)}): ${thrown.message}`;
};

const resultOf = ({ name, type }: TypedVariable, make: () => Literal): Result => {
  try {
    return { name, literal: make() };
  } catch (error) {
    return { name, problem: problemText(`input ${name}`, type, error) };
  }
};

const resultFor = (input: TypedVariable, { texts, values }: GivenInputs): Result => {
  const { name, type, isRequired } = input;
  const text = Object.hasOwn(texts, name) ? texts[name] : undefined; // an input may be called `constructor`
  if (text !== undefined) return resultOf(input, () => literalOfText(type, text));
  if (Object.hasOwn(values, name)) return resultOf(input, () => literalOf(type, plain(values[name])));
  return isRequired ? { name, problem: `input ${name} (${typeInWords(type)}) is needed: --input ${name}=…` } : { name };
};

const unknownNames = (expected: readonly TypedVariable[], { texts, values }: GivenInputs): readonly string[] => {
  const known = new Set(expected.map(({ name }) => name));
  const others = known.size === 0 ? 'none can be given' : `those that can be given are ${[...known].join(', ')}`;
  return [...Object.keys(texts), ...Object.keys(values)]
    .filter((name) => !known.has(name))
    .map((name) => `input ${name}: there is no such input, or its value is fixed; ${others}`);
};

/**
 * The literals of the inputs that were given, by their names; each is of the type that `expected` has for it.
 *
 * @throws {OperatorError} with a line for each input that is wrong, unknown or missing.
 */
export const literalsOf = (
  expected: readonly TypedVariable[],
  given: GivenInputs,
): Readonly<Record<string, Literal>> => {
  const results = expected.map((input) => resultFor(input, given));
  const problems = [...unknownNames(expected, given), ...results.flatMap(({ problem }) => problem ?? [])];
  if (problems.length > 0) throw new OperatorError(problems.join('\n'));
  return Object.fromEntries(results.flatMap(({ name, literal }) => (literal ? [[name, literal]] : [])));
};

/**
 * The literal of a type for a text that a person gives.
 *
 * @param subject the name of the value in messages, such as `signal approve`.
 * @throws {OperatorError} when the type does not allow the text.
 */
export const literalOfValue = (subject: string, type: LiteralType, text: string): Literal => {
  try {
    return literalOfText(type, text);
  } catch (error) {
    throw new OperatorError(problemText(subject, type, error));
  }
};
