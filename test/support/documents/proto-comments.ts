import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CHECKOUT } from '../processes/command.js';

/** The comments in the proto files, by the full name of the message, enum, oneof, service or field that follows. */
export type ProtoComments = ReadonlyMap<string, string>;

const OPENS = /^(?:message|enum|oneof|service)\s+(\w+)\s*\{/u;
const FIELD = /^(?:repeated\s+|optional\s+)?[\w.]+(?:<[^>]*>)?\s+(\w+)\s*=\s*\d+/u;

/**
 * The package, and the open braces after a line, each with the name that it adds to full names. That is empty for an
 * RPC or an option, and for a oneof, because its fields belong to its message.
 */
const scopeAfter = (scope: readonly string[], line: string): readonly string[] => {
  if (line.startsWith('}')) return scope.slice(0, -1);
  if (!line.endsWith('{')) return scope;
  return [...scope, line.startsWith('oneof') ? '' : (OPENS.exec(line)?.[1] ?? '')];
};

/** Collects the comments of one file that are directly above a declaration or a field. */
const readFile = (text: string, found: Map<string, string>): void => {
  let scope: readonly string[] = [/^package\s+([\w.]+);/mu.exec(text)?.[1] ?? ''];
  let comment: string[] = [];
  for (const line of text.split('\n').map((each) => each.trim())) {
    if (line.startsWith('//')) {
      comment.push(line.slice(2).trim());
      continue;
    }
    const name = (OPENS.exec(line) ?? FIELD.exec(line))?.[1];
    if (name !== undefined && comment.length > 0)
      found.set([...scope.filter((each) => each !== ''), name].join('.'), comment.join(' '));
    scope = scopeAfter(scope, line);
    comment = [];
  }
};

/** Reads the comments of all files in `proto/platformidl`. */
export const protoComments = (): ProtoComments => {
  const root = join(CHECKOUT, 'proto/platformidl');
  const found = new Map<string, string>();
  for (const file of readdirSync(root, { recursive: true, encoding: 'utf8' }))
    if (file.endsWith('.proto')) readFile(readFileSync(join(root, file), 'utf8'), found);
  return found;
};
