// Translates TypeScript to JavaScript, file by file, and only what has changed. Types are not checked here, but by
// `npm run lint` and `npm run check`. The product is also bundled into few files, in `dist/program`, which are the ones
// that are started. `node build.js` translates the product, `node build.js --all` also tests, benchmarks and the
// modules of the web console that tests import; `console/build.js` builds the web console itself.
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(fileURLToPath(import.meta.url));
const PRODUCT = ['proto/gen', 'services', 'projections', 'engine', 'interface'];
const REST = ['test', 'bench', 'console', 'vitest.config.ts'];

/** The files on which the translation of every source file depends, besides the source file itself. */
const TOOLS = ['build.js', 'package-lock.json', 'tsconfig.json'];

/** The folder of the files that are started: finding and reading a thousand modules would be a third of a start. */
const PROGRAM = join(ROOT, 'dist/program');

/** True of a source that a process or a thread is started with. */
const isStarted = (source) => source === 'services/cli/flightlog.ts' || source.endsWith('-thread.ts');

/** Files of packages that the product serves as they are, by where they are put. */
const ASSETS = Object.fromEntries(
  ['swagger-ui-bundle.js', 'swagger-ui.css', 'LICENSE'].map((name) => [
    `dist/services/gateway/openapi/assets/${name}`,
    `node_modules/swagger-ui-dist/${name}`,
  ]),
);

/**
 * The record of the translation: the time and size of each source file when it was translated. It is in `dist`, so that
 * it is removed together with the translated files.
 */
const RECORD = join(ROOT, 'dist/.translated.json');

const statOf = (path) => statSync(join(ROOT, path), { throwIfNoEntry: false });

const sourcesIn = (path) => {
  if (statOf(path)?.isDirectory() !== true) return /(?<!\.d)\.ts$/u.test(path) ? [path] : [];
  const names = readdirSync(join(ROOT, path)).filter((name) => name !== 'node_modules' && !name.startsWith('.'));
  return names.flatMap((name) => sourcesIn(`${path}/${name}`));
};

/** The time and size of a file, as text; `undefined` when there is no such file. */
const markOf = (path) => {
  const stat = statOf(path);
  return stat && `${stat.mtimeMs} ${stat.size}`;
};

const toolMarks = () => TOOLS.map(markOf).join(', ');

/** The mark of a source that was translated with other tools; no source file has it. */
const OUTDATED = '';

/** The recorded marks, by source; all are outdated when other tools wrote them. Empty when there is no record. */
const recorded = () => {
  try {
    const { tools, sources } = JSON.parse(readFileSync(RECORD, 'utf8'));
    if (tools === toolMarks()) return sources;
    return Object.fromEntries(Object.keys(sources).map((source) => [source, OUTDATED]));
  } catch {
    return {};
  }
};

/** Renamed into place, so that a process that starts meanwhile reads no half file. */
const write = (path, contents) => {
  mkdirSync(dirname(path), { recursive: true });
  const temporary = `${path}.${process.pid}`;
  writeFileSync(temporary, contents);
  renameSync(temporary, path);
};

const outputOf = (source) => join(ROOT, 'dist', source.replace(/\.ts$/u, '.js'));

/** The sources that have changed since they were translated, and the translated ones that no longer exist. */
const changesIn = (folders) => {
  const sources = recorded();
  const now = Object.fromEntries(folders.flatMap(sourcesIn).map((source) => [source, markOf(source)]));
  return {
    changed: Object.keys(now).filter((source) => sources[source] !== now[source]),
    gone: Object.keys(sources).filter((source) => markOf(source) === undefined),
    next: { ...sources, ...now },
  };
};

const TRANSLATION = {
  absWorkingDir: ROOT,
  write: false,
  format: 'esm',
  platform: 'node',
  target: 'es2023',
  charset: 'utf8',
  sourcemap: true,
  sourcesContent: false,
};

const translate = async (sources) => {
  const { build } = await import('esbuild');
  const { outputFiles } = await build({
    ...TRANSLATION,
    entryPoints: sources,
    outdir: 'dist',
    outbase: '.',
  });
  for (const { path, contents } of outputFiles) write(path, contents);
};

/**
 * The text of a source for the bundle. In `dist/program`, the file of a thread is beside the file that starts it; any
 * other path that begins at `import.meta.url` begins at the source's own translation in `dist`.
 */
const placed = (path) => {
  const translation = relative(PROGRAM, outputOf(relative(ROOT, path)));
  return readFileSync(path, 'utf8').replace(
    /new URL\('[^']*?([\w-]+-thread\.js)', import\.meta\.url\)|import\.meta\.url/gu,
    (_, thread) =>
      thread ? `new URL('./${thread}', import.meta.url)` : `new URL('${translation}', import.meta.url).href`,
  );
};

const places = {
  name: 'places',
  setup: ({ onLoad }) => onLoad({ filter: /\.ts$/ }, ({ path }) => ({ contents: placed(path), loader: 'ts' })),
};

/** Generated files load faster with this function of the project's than with the library's. */
const descriptors = {
  name: 'descriptors',
  setup: ({ onResolve }) =>
    onResolve({ filter: /^@bufbuild\/protobuf\/codegenv2$/ }, ({ importer }) =>
      importer.startsWith(join(ROOT, 'proto/gen/'))
        ? { path: join(ROOT, 'services/kernel/encoding/file-descriptors.ts') }
        : undefined,
    ),
};

/**
 * Packages that become part of the program, because a process and most of its threads would read their hundreds of
 * files at each start. They are modules without dependencies and native code.
 */
const INCLUDED = ['@bufbuild/protobuf', 'jose', 'zod'];

const isIncluded = (path) => INCLUDED.some((name) => path === name || path.startsWith(`${name}/`));

/** Leaves all other packages outside of the program. */
const packages = {
  name: 'packages',
  setup: ({ onResolve }) =>
    onResolve({ filter: /^[^./]/ }, ({ path, kind }) =>
      kind === 'entry-point' || isIncluded(path) ? undefined : { path, external: true },
    ),
};

const LICENCES = 'LICENSES.txt';

/** The licence of a package: its file, or the comments at the beginning of its sources, each once. */
const licenceOf = (name, sources) => {
  const folder = join(ROOT, 'node_modules', name);
  const { version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const file = readdirSync(folder).find((each) => /^licen[cs]e/iu.test(each));
  const texts =
    file === undefined
      ? sources.map((source) => /^(?:\/\/.*\n)*/u.exec(source)[0])
      : [readFileSync(join(folder, file), 'utf8')];
  return [`${name} ${version}: ${license}`, ...new Set(texts)].join('\n\n');
};

/** The licences of the packages in the program, as one text. */
const licences = (inputs) =>
  INCLUDED.map((name) => {
    const files = inputs.filter((path) => path.startsWith(`node_modules/${name}/`));
    return licenceOf(
      name,
      files.map((path) => readFileSync(join(ROOT, path), 'utf8')),
    );
  }).join(`\n${'-'.repeat(80)}\n\n`);

/**
 * The sources that are started, in groups of those that share code. What most starts of `serve` need shares none with
 * the others: it would be cut into many more files, for each set of threads that use a piece of it.
 */
const groupsOf = (sources) => {
  const started = sources.filter(isStarted);
  const isOfServe = (source) => /\/(?:flightlog|views-thread)\.ts$/u.test(source);
  return [...started.filter(isOfServe).map((source) => [source]), started.filter((source) => !isOfServe(source))];
};

/** Bundles the program, and removes files of earlier bundles. */
const bundle = async (sources) => {
  const { build } = await import('esbuild');
  const bundled = await Promise.all(
    groupsOf(sources).map((entryPoints) =>
      build({
        ...TRANSLATION,
        metafile: true,
        entryPoints,
        outdir: 'dist/program',
        entryNames: '[name]',
        bundle: true,
        splitting: true,
        plugins: [places, descriptors, packages],
      }),
    ),
  );
  const outputFiles = bundled.flatMap((each) => each.outputFiles);
  for (const { path, contents } of outputFiles) write(path, contents);
  write(join(PROGRAM, LICENCES), licences(bundled.flatMap(({ metafile }) => Object.keys(metafile.inputs))));
  const kept = new Set([LICENCES, ...outputFiles.map(({ path }) => basename(path))]);
  for (const name of readdirSync(PROGRAM)) if (!kept.has(name)) rmSync(join(PROGRAM, name));
};

const isProduct = (source) => PRODUCT.some((folder) => source.startsWith(`${folder}/`));

const apply = async ({ changed, gone, next }) => {
  if (changed.length > 0) await translate(changed);
  for (const source of gone) for (const end of ['', '.map']) rmSync(`${outputOf(source)}${end}`, { force: true });
  const left = Object.fromEntries(Object.entries(next).filter(([source]) => !gone.includes(source)));
  if ([...changed, ...gone].some(isProduct)) await bundle(Object.keys(left));
  write(RECORD, JSON.stringify({ tools: toolMarks(), sources: left }));
};

const copyAssets = () => {
  for (const [to, from] of Object.entries(ASSETS)) {
    const source = statOf(from);
    if (source === undefined || statOf(to)?.size === source.size) continue;
    write(join(ROOT, to), readFileSync(join(ROOT, from)));
  }
};

const isToolMissing = (error) => error.code === 'ERR_MODULE_NOT_FOUND';

/**
 * Translates the sources that have changed, and says so on standard error when there are any.
 *
 * @throws when a source is not valid TypeScript; esbuild has printed the problem then. Also when esbuild is not
 * installed.
 */
export const bringUpToDate = async (folders = PRODUCT) => {
  copyAssets();
  const changes = changesIn(folders);
  const count = changes.changed.length;
  if (count + changes.gone.length === 0) return;
  const started = performance.now();
  process.stderr.write(`flightlog: translating ${count} source file${count === 1 ? '' : 's'} …\n`);
  await apply(changes).catch((error) => {
    if (!isToolMissing(error) || count === 0) throw error;
    throw new Error('its sources are not translated, and esbuild is not installed: run `npm ci`', { cause: error });
  });
  process.stderr.write(`flightlog: translated in ${((performance.now() - started) / 1_000).toFixed(1)} s\n`);
};

if (process.argv[1] === fileURLToPath(import.meta.url))
  await bringUpToDate(process.argv.includes('--all') ? [...PRODUCT, ...REST] : PRODUCT);
