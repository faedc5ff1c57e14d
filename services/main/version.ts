import { readFileSync } from 'node:fs';

type Package = { readonly version: string };

/** The release, as `package.json` has it. */
export const version = (JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as Package)
  .version;
