#!/usr/bin/env node
// Starts the command line: looks at Node first, in words that an old one understands, and translates what has changed.
import { existsSync } from 'node:fs';

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(`flightlog needs Node 20.19 or newer; this is ${process.versions.node}\n`);
  process.exit(1);
}

/** An installed package has no sources, and is translated already; tests are about what was built before them. */
const hasSources = existsSync(new URL('services', import.meta.url)) && !process.env.FLIGHTLOG_TEST_AS_BUILT;
const translated = hasSources ? import('./build.js').then(({ bringUpToDate }) => bringUpToDate()) : Promise.resolve();

// `await` is a word that an old Node does not read here: it would not come to the lines above.
translated.then(
  () => import('./dist/services/cli/flightlog.js'),
  (error) => {
    process.stderr.write(`flightlog: ${error.message}\n`);
    process.exitCode = 1;
  },
);
