import { requestIdIn } from './answer-headers.js';
import { ServerFailure } from './failure.js';

/**
 * The message of a refusal; the HTTP status stands for it where the body is not the JSON of the server, as that of a
 * proxy in between.
 */
const messageOf = async (answer: Response): Promise<string> => {
  try {
    const body: unknown = await answer.json();
    if (typeof body === 'object' && body !== null && 'message' in body && typeof body.message === 'string')
      return body.message;
  } catch {
    // Below, the HTTP status stands for the reason.
  }
  return `the server answered ${answer.status}`;
};

/**
 * Asks why the server has refused a stream that the browser has given up, because an `EventSource` does not say it;
 * `undefined` when no answer comes, or the stream is served now.
 */
export const streamFailure = async (url: URL, signal: AbortSignal): Promise<ServerFailure | undefined> => {
  const reading = new AbortController();
  try {
    const answer = await fetch(url, {
      headers: { accept: 'text/event-stream' },
      signal: AbortSignal.any([signal, reading.signal]),
    });
    if (answer.ok) return undefined;
    return new ServerFailure(await messageOf(answer), { status: answer.status, requestId: requestIdIn(answer) });
  } catch {
    return undefined;
  } finally {
    reading.abort(); // a stream that is served now has no end
  }
};

const CLIENT_ERRORS = { first: 400, last: 499, busy: 429 } as const;

/** True for the answer of a server that has read the request and refuses it: the same request is refused again. */
export const isRefusal = (failure: ServerFailure | undefined): failure is ServerFailure =>
  failure !== undefined &&
  failure.status >= CLIENT_ERRORS.first &&
  failure.status <= CLIENT_ERRORS.last &&
  failure.status !== CLIENT_ERRORS.busy;
