import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';

import { RpcError } from '../../kernel/rpc.js';
import type { BrowserFile } from '../openapi/page.js';

/** The page of a server without a built console. */
const unbuiltPage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>flightlog · console</title>
</head>
<body>
<h1>The console is not built</h1>
<p>Run <code>npm run build:console</code> in the repository and load this page again. The published packages contain the built console.</p>
</body>
</html>
`;

/** The built console, beside the translated services. */
const FOLDER = new URL('../../../web/', import.meta.url);

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

/** Names have a hash of their content, so that browsers may keep them for ever; none begins with a dot. */
const ASSET = /^\/console\/(assets\/[\w-][\w.-]*)$/u;

/** A file of the console, with the time that browsers may keep it. */
export type ConsoleFile = BrowserFile & {
  readonly cacheControl: string;
  /** Reads the file as the build has compressed it with gzip; `undefined` where there is no such file. */
  readonly readGzipped?: () => Promise<Buffer | undefined>;
};

const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT';

const readIfThere = (file: URL): Promise<Buffer | undefined> =>
  readFile(file).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });

const asset = (name: string, folder: URL): ConsoleFile => ({
  mediaType: MEDIA_TYPES[extname(name)] ?? 'application/octet-stream',
  cacheControl: 'public, max-age=31536000, immutable',
  read: async () => {
    const bytes = await readIfThere(new URL(name, folder));
    if (bytes === undefined) throw new RpcError('NOT_FOUND', 'Not Found');
    return bytes;
  },
  readGzipped: () => readIfThere(new URL(`${name}.gz`, folder)),
});

/** The relative URL from a page of the console to its root; it is also right below the path prefix of a proxy. */
const rootFrom = (path: string): string => {
  const depth = path.split('/').length - 3;
  return depth < 0 ? 'console/' : `./${'../'.repeat(depth)}`;
};

const readPage = async (path: string, folder: URL): Promise<Buffer> => {
  const page = await readIfThere(new URL('index.html', folder));
  if (page === undefined) return Buffer.from(unbuiltPage);
  return Buffer.from(page.toString().replace('<head>', `<head><base href="${rootFrom(path)}">`));
};

/** True for the paths of the console: its views and its assets. */
export const isConsolePath = (path: string): boolean => path === '/console' || path.startsWith('/console/');

/** The file of the console at a path, from the folder where it is built; the page, where the path names no asset. */
export const consoleFile = (path: string, folder = FOLDER): ConsoleFile => {
  const [, name] = ASSET.exec(path) ?? [];
  if (name !== undefined) return asset(name, folder);
  return { mediaType: 'text/html; charset=utf-8', cacheControl: 'no-cache', read: () => readPage(path, folder) };
};
