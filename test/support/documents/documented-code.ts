import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { transform } from 'esbuild';

import { CHECKOUT } from '../processes/command.js';

/**
 * Finds the first fenced block of a language in a document, or in its part from a heading on.
 *
 * @throws {Error} when there is no such block or heading.
 */
export const codeIn = (document: string, language: string, heading = ''): string => {
  const text = readFileSync(join(CHECKOUT, document), 'utf8');
  const part = text.slice(text.indexOf(heading));
  const [, code] = new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, 'msu').exec(part) ?? [];
  if (code === undefined || !text.includes(heading))
    throw new Error(`${document} has no code in ${language} ${heading}`);
  return code;
};

/** Loads the TypeScript of a document as a module; what it imports from `./gen/` is the generated code. */
export const importDocumented = async <Module>(document: string, heading?: string): Promise<Module> => {
  const { code } = await transform(codeIn(document, 'ts', heading), { loader: 'ts', format: 'esm' });
  const generated = pathToFileURL(join(CHECKOUT, 'dist/proto/gen/')).href;
  const folder = mkdtempSync(join(CHECKOUT, 'dist/documented-')); // in the checkout, so that packages are found
  const file = join(folder, 'code.mjs');
  try {
    writeFileSync(file, code.replaceAll("'./gen/", `'${generated}`).replaceAll('"./gen/', `"${generated}`));
    return (await import(pathToFileURL(file).href)) as Module;
  } finally {
    rmSync(folder, { recursive: true });
  }
};
