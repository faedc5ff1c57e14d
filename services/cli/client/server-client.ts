import { readFileSync } from 'node:fs';
import { OperatorError } from '../../config/operator-errors.js';

/** The flags of commands that ask a server over REST. */
export type ServerFlags = {
  /** A URL, such as `http://127.0.0.1:8080`. */
  readonly server: string;
  /** A file with an access token. */
  readonly tokenFile?: string;
  readonly project: string;
  readonly domain: string;
};

/** A parameter of a query: absent when it is undefined, repeated when it is a list. */
type Parameter = string | number | boolean | readonly string[] | undefined;

export type Query = Readonly<Record<string, Parameter>>;

const queryText = (query: Query): string => {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    for (const each of Array.isArray(value) ? value : [value])
      if (each !== undefined) parameters.append(name, String(each));
  return parameters.size === 0 ? '' : `?${parameters.toString()}`;
};

const headersOf = ({ tokenFile }: ServerFlags): Record<string, string> =>
  tokenFile === undefined ? {} : { authorization: `Bearer ${readFileSync(tokenFile, 'utf8').trim()}` };

/** The path of an execution: `NAME` in the project and domain of the flags, or `PROJECT/DOMAIN/NAME`. */
export const executionPathOf = (name: string, { project, domain }: ServerFlags): string => {
  const parts = name.split('/');
  if (parts.length !== 1 && parts.length !== 3)
    throw new OperatorError(`${name} is not a name of an execution; write NAME or PROJECT/DOMAIN/NAME`);
  return (parts.length === 1 ? [project, domain, name] : parts).map(encodeURIComponent).join('/');
};

const refusalIn = async (response: Response): Promise<string> => {
  const text = await response.text();
  try {
    return (JSON.parse(text) as { readonly message?: string }).message ?? text;
  } catch {
    return text.slice(0, 200);
  }
};

const send = async (
  flags: ServerFlags,
  path: string,
  { headers, ...request }: Omit<RequestInit, 'headers'> & { readonly headers: Readonly<Record<string, string>> },
): Promise<Response> => {
  const url = `${flags.server.replace(/\/$/u, '')}${path}`;
  const sent = fetch(url, { ...request, headers: { ...headersOf(flags), ...headers } });
  const response = await sent.catch((cause: unknown) => {
    throw new OperatorError(`no server answers at ${flags.server}; --server names another`, { cause });
  });
  if (!response.ok) throw new OperatorError(await refusalIn(response));
  return response;
};

/**
 * Sends a GET request to the server.
 *
 * @returns the response, whose status is OK.
 * @throws {OperatorError} when the server cannot be reached or refuses the request, with its reason.
 */
export const get = (
  flags: ServerFlags,
  path: string,
  query: Query = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> => send(flags, `${path}${queryText(query)}`, { headers });

/**
 * Sends a POST request to the server; `content` becomes its JSON.
 *
 * @returns the response, whose status is OK.
 * @throws {OperatorError} when the server cannot be reached or refuses the request, with its reason.
 */
export const post = (
  flags: ServerFlags,
  path: string,
  content: Readonly<Record<string, unknown>> = {},
): Promise<Response> =>
  send(flags, path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(content),
  });
