import { readFileSync } from 'node:fs';
import { type Command, InvalidArgumentError } from 'commander';
import { yaml } from '../../../config/yaml.js';
import { OperatorError } from '../../../config/operator-errors.js';
import type { GivenInputs } from './inputs.js';

/** The flags of commands that take inputs. */
export type InputFlags = { readonly input?: Readonly<Record<string, string>>; readonly inputs?: string };

/** Adds one `key=value` to those of earlier uses of the flag. */
export const addPair = (
  text: string,
  before: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> => {
  const [, key, value] = /^([^=]+)=(.*)$/su.exec(text) ?? [];
  if (key === undefined || value === undefined) throw new InvalidArgumentError('It must be KEY=VALUE.');
  return { ...before, [key]: value };
};

/** Adds the flags of inputs. */
export const withInputs = (command: Command): Command =>
  command
    .option('-i, --input <key=value>', 'an input; lists, maps and structs in YAML or JSON; repeatable', addPair)
    .option('--inputs <file>', 'inputs in a YAML or JSON file; - is standard input. --input has precedence');

const STANDARD_INPUT = 0;

const documentIn = (file: string): unknown => {
  try {
    return yaml().parse(readFileSync(file === '-' ? STANDARD_INPUT : file, 'utf8'), { intAsBigInt: true }) ?? {};
  } catch (cause) {
    const reason = cause instanceof Error ? (cause.message.split('\n', 1)[0] ?? '') : '';
    throw new OperatorError(`${file}: ${reason}`, { cause });
  }
};

/**
 * Reads the inputs that the flags give.
 *
 * @throws {OperatorError} when the file cannot be read or has no mapping.
 */
export const givenInputs = ({ input: texts = {}, inputs: file }: InputFlags): GivenInputs => {
  const values = file === undefined ? {} : documentIn(file);
  if (typeof values !== 'object' || values === null || Array.isArray(values))
    throw new OperatorError(`${file ?? ''}: must be a mapping of inputs: name: value`);
  return { texts, values: values as Readonly<Record<string, unknown>> };
};
