// Builds the web console to `dist/web`, when something that it is made of has changed.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

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

/** Components mark themselves for servers that render pages; here, browsers render all. */
const isAboutServers = ({ code }) => code === 'MODULE_LEVEL_DIRECTIVE';

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
    rolldownOptions: { onLog: (level, log, report) => (isAboutServers(log) ? undefined : report(level, log)) },
  },
};

/**
 * Brings the built console up to date, and says so on standard error where there is something to do.
 *
 * @throws when a source cannot be built, or Vite is not installed.
 */
export const buildConsole = async () => {
  const mark = markOfSources();
  if (isUpToDate(mark)) return;
  const started = performance.now();
  process.stderr.write('flightlog: building the web console …\n');
  const { build } = await import('vite');
  await build(options);
  writeFileSync(RECORD, mark);
  process.stderr.write(`flightlog: built in ${((performance.now() - started) / 1_000).toFixed(1)} s\n`);
};

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildConsole();
