import { createRequire } from 'node:module';
import type * as Yaml from 'yaml';

const require = createRequire(import.meta.url);

/**
 * Loads the YAML library at the first call. Most commands neither read nor write YAML, and loading it takes a tenth of
 * the time of a command.
 */
export const yaml = (): typeof Yaml => require('yaml') as typeof Yaml;
