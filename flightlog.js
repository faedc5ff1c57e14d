#!/usr/bin/env node
// Starts the command line: looks at Node first, in words that an old one understands, and compiles on first use.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(fileURLToPath(import.meta.url));
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(`flightlog needs Node 20.19 or newer; this is ${process.versions.node}\n`);
  process.exit(1);
}

const main = join(root, 'dist/services/main/flightlog.js');
if (!existsSync(main)) {
  process.stderr.write('compiling, once …\n');
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const { status } = spawnSync(process.execPath, [compiler, '-p', root], { stdio: ['ignore', 2, 2] });
  if (status !== 0) process.exit(1);
}
import(main); // not awaited: an old Node could not even read that word here, and would not come to the line above
