import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

import { CHECKOUT } from '../../support/processes/command.js';

const FOLDER = join(CHECKOUT, 'test/integration/analysts');

/** The program that reads exported files with DuckDB and pandas. */
export const READ = join(FOLDER, 'read.py');

const { FLIGHTLOG_TEST_ANALYSTS_ENV: namedFolder, XDG_CACHE_HOME: cache = join(homedir(), '.cache') } = process.env;

const interpreter = (): string | undefined => {
  const environment = namedFolder ?? join(cache, 'flightlog/analysts');
  const read = (path: string): string | undefined => (existsSync(path) ? readFileSync(path, 'utf8') : undefined);
  const isCurrent = read(join(environment, 'has.txt')) === read(join(FOLDER, 'requirements.txt'));
  return isCurrent ? join(environment, 'bin/python') : undefined;
};

/**
 * The interpreter of the environment that the script `environment` beside this file created; undefined unless the
 * environment has the packages that are required now.
 */
export const python = interpreter();

/** True when the tests are required, or when the path of the environment is set. */
export const isRequired = process.env['FLIGHTLOG_TEST_REQUIRES_ANALYSTS'] === '1' || namedFolder !== undefined;
