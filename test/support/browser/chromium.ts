import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

import { type Browser, chromium } from 'playwright-core';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

/** The path of the browser of this machine; `undefined` when there is none, and tests in a browser are skipped. */
export const chromiumPath: string | undefined = (process.env['PATH'] ?? '')
  .split(delimiter)
  .flatMap((folder) => NAMES.map((name) => join(folder, name)))
  .find((path) => existsSync(path));

if (chromiumPath === undefined && process.env['FLIGHTLOG_TEST_REQUIRES_CHROMIUM'] === '1')
  throw new Error('FLIGHTLOG_TEST_REQUIRES_CHROMIUM is set, and no chromium is in PATH');

/** Starts the browser without a window. */
export const startChromium = (): Promise<Browser> => chromium.launch({ executablePath: chromiumPath ?? '' });
