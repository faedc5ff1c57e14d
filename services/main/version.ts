import { readFileSync } from 'node:fs';

type Package = { readonly version: string };

/** The version of this release, from `package.json`. */
export const version = (JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as Package)
  .version;
