import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

import { CHECKOUT } from '../../support/processes/command.js';

/** The folder of this file in the checkout, with the programs that the tests run. */
export const FOLDER = join(CHECKOUT, 'test/integration/python-sdk');

const interpreter = (): string | undefined => {
  const { FLIGHTLOG_TEST_PYTHON_ENV: namedFolder, XDG_CACHE_HOME: cache = join(homedir(), '.cache') } = process.env;
  const environment = namedFolder ?? join(cache, 'flightlog/python-sdk');
  const read = (path: string): string | undefined => (existsSync(path) ? readFileSync(path, 'utf8') : undefined);
  const isCurrent = read(join(environment, 'has.txt')) === read(join(FOLDER, 'requirements.txt'));
  return isCurrent ? join(environment, 'bin/python') : undefined;
};

/** The interpreter of the environment that the script `environment` created, if it has the packages required now. */
export const python = interpreter();

/** True when one test must fail without {@link python}: the tests are required, or the environment is named. */
export const isRequired =
  process.env['FLIGHTLOG_TEST_REQUIRES_PYTHON_SDK'] === '1' || process.env['FLIGHTLOG_TEST_PYTHON_ENV'] !== undefined;
