// Builds the web console to `dist/web` when one of its sources has changed.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const OWN_PATH = fileURLToPath(import.meta.url);
const ROOT = fileURLToPath(new URL('..', import.meta.url));
const SOURCES = ['console', 'interface', 'proto/gen', 'package-lock.json'];
const TARGET = join(ROOT, 'dist/web');

/** The mark of the sources that the built console was made from. */
const RECORD = join(ROOT, 'dist/.web');

const filesIn = (path) =>
  statSync(join(ROOT, path)).isDirectory()
    ? readdirSync(join(ROOT, path)).flatMap((name) => filesIn(`${path}/${name}`))
    : [path];

const markOf = (path) => {
  const { mtimeMs, size } = statSync(join(ROOT, path));
  return `${path} ${mtimeMs} ${size}\n`;
};

const markOfSources = () => createHash('sha256').update(SOURCES.flatMap(filesIn).map(markOf).join('')).digest('hex');

const isUpToDate = (mark) =>
  existsSync(join(TARGET, 'index.html')) && existsSync(RECORD) && readFileSync(RECORD, 'utf8') === mark;

/** True for a log entry about a directive such as `'use client'`, which only servers that render pages need. */
const isAboutServers = ({ code }) => code === 'MODULE_LEVEL_DIRECTIVE';

/** One file has all that each view needs: a browser asks for six files at a time, and waits for the last of them. */
const FIRST = { name: 'first', tags: ['$initial'] };

/** A smaller file fits one packet as it is. */
const MIN_COMPRESSED_BYTES = 1_400;

/** Relative addresses: the server says in the page where its root is, so that it works below any path. */
const options = {
  configFile: false,
  root: join(ROOT, 'console'),
  base: './',
  logLevel: 'warn',
  build: {
    outDir: TARGET,
    emptyOutDir: true,
    target: 'es2023',
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0, // the content security policy allows no inline scripts
    chunkSizeWarningLimit: 2_000, // in kB; the layout of graphs, which is loaded when one is opened
    rolldownOptions: {
      onLog: (level, log, report) => (isAboutServers(log) ? undefined : report(level, log)),
      output: { codeSplitting: { groups: [FIRST] } },
    },
  },
};

/** Compresses the assets once: compression for each browser would take longer than the rest of a first load. */
const compressAssets = () => {
  const folder = join(TARGET, 'assets');
  for (const name of readdirSync(folder)) {
    const bytes = readFileSync(join(folder, name));
    if (bytes.length >= MIN_COMPRESSED_BYTES) writeFileSync(join(folder, `${name}.gz`), gzipSync(bytes, { level: 9 }));
  }
};

/** Builds the console from sources with this mark. */
const build = async (mark) => {
  const started = performance.now();
  process.stderr.write('flightlog: building the web console …\n');
  const vite = await import('vite');
  await vite.build(options);
  compressAssets();
  writeFileSync(RECORD, mark);
  process.stderr.write(`flightlog: built in ${((performance.now() - started) / 1_000).toFixed(1)} s\n`);
};

/**
 * Brings the built console up to date, and says so on standard error where there is something to do. The build runs in
 * a process of its own: it needs some 300 MB, which a server would keep.
 *
 * @throws when the console cannot be built; the reason is on standard error.
 */
export const buildConsole = async () => {
  if (isUpToDate(markOfSources())) return;
  const [code] = await once(spawn(process.execPath, [OWN_PATH], { stdio: ['ignore', 2, 2] }), 'exit');
  if (code !== 0) throw new Error('see above');
};

if (process.argv[1] === OWN_PATH) {
  const mark = markOfSources();
  if (!isUpToDate(mark)) await build(mark);
}
