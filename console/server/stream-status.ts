/**
 * Asks for the status of a stream that the browser has given up, because an `EventSource` does not tell it; `undefined`
 * when no answer comes.
 */
export const streamStatus = async (url: URL, signal: AbortSignal): Promise<number | undefined> => {
  const reading = new AbortController();
  try {
    const { status } = await fetch(url, {
      headers: { accept: 'text/event-stream' },
      signal: AbortSignal.any([signal, reading.signal]),
    });
    return status;
  } catch {
    return undefined;
  } finally {
    reading.abort(); // a stream that is served now has no end
  }
};

const CLIENT_ERRORS = { first: 400, last: 499, busy: 429 } as const;

/** True for the status of a server that has read the request and refuses it: to ask again later changes nothing. */
export const isRefusal = (status: number | undefined): boolean =>
  status !== undefined &&
  status >= CLIENT_ERRORS.first &&
  status <= CLIENT_ERRORS.last &&
  status !== CLIENT_ERRORS.busy;
