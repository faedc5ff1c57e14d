/** The address of the console, with a slash at the end; the page says it, so that it holds below any path prefix. */
export const consoleRoot = new URL(document.baseURI);

/** The address of a path of the server, such as `/api/v1/version`, which is beside the console. */
export const serverAddress = (path: string): URL => new URL(`..${path}`, consoleRoot);
