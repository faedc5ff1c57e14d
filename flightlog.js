#!/usr/bin/env node
// Starts the command line. First checks the release of Node, in syntax that an old release can read. In a checkout,
// also translates the sources that have changed and, for the commands that serve the web console, builds the console.
import { existsSync } from 'node:fs';

/** The lowest minor version of each major one below 24 that is supported, as `engines` of package.json says. */
const LOWEST = { 20: 19, 22: 13 };

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 24 && !(minor >= LOWEST[major])) {
  const supported = '20.19 or a later 20, 22.13 or a later 22, or 24 and later';
  process.stderr.write(`flightlog needs Node ${supported}; this is ${process.versions.node}\n`);
  process.exit(1);
}

/** True where sources are to be translated: an installed package has none, and tests run on files built before them. */
const hasSources = existsSync(new URL('services', import.meta.url)) && !process.env.FLIGHTLOG_TEST_AS_BUILT;
const translated = hasSources ? import('./build.js').then(({ bringUpToDate }) => bringUpToDate()) : Promise.resolve();

const consoleBuild = new URL('console/build.js', import.meta.url);

/**
 * True for a command that serves the web console. It serves all else without it, so a failed build is only reported.
 */
const servesConsole = hasSources && ['sandbox', 'serve'].includes(process.argv[2]) && existsSync(consoleBuild);
const built = translated.then(() => {
  if (!servesConsole || process.argv.includes('--help') || process.argv.includes('-h')) return undefined;
  return import(consoleBuild.href)
    .then(({ buildConsole }) => buildConsole())
    .catch(({ message }) => process.stderr.write(`flightlog: the web console is not built: ${message}\n`));
});

// No `await` at the top level: an old release of Node could not read this file then, nor print the message above.
built.then(
  () => import('./dist/program/flightlog.js'),
  (error) => {
    process.stderr.write(`flightlog: ${error.message}\n`);
    process.exitCode = 1;
  },
);
