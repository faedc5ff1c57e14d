import { forgetFailed, setConnection } from './connection.js';
import type { ServerFailure } from './failure.js';
import { leaveToSignIn } from './sign-in.js';
import { isRefusal, streamFailure } from './stream-failure.js';

/** The callbacks of a follower of an event stream. */
export type StreamListener = {
  readonly event: (message: MessageEvent<string>) => void;
  readonly open: () => void;
  /** The stream has ended, or the server did not answer. It is opened again. */
  readonly lost: () => void;
  /**
   * The browser has given up the stream; it is opened again later. `refusal` is the answer of a server that refuses the
   * stream. Not called for a 401, after which the page leaves for the sign-in.
   */
  readonly givenUp: (refusal: ServerFailure | undefined) => void;
};

const UNAUTHENTICATED = 401;
const INVALID = 400;

const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 30_000;

const stateOf = (failure: ServerFailure | undefined): 'invalid' | 'refused' | 'lost' => {
  if (!isRefusal(failure)) return 'lost';
  return failure.status === INVALID ? 'invalid' : 'refused';
};

/**
 * Follows a stream of Server-Sent Events until the returned function is called. A browser connects again by itself
 * after a connection was lost; it gives up after an answer that is no event stream, such as the 503 of a proxy whose
 * server is starting, or a refusal. Then the stream is opened again after a pause, which grows from 1 s to 30 s.
 *
 * @param url gets the position that the stream has reached, so that a stream of the same URL continues there.
 */
export const followStream = (url: URL, listener: StreamListener): (() => void) => {
  const closing = new AbortController();
  let source: EventSource;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let pauseMs = FIRST_PAUSE_MS;
  const reached = ({ lastEventId }: MessageEvent<string>): void => url.searchParams.set('last_event_id', lastEventId);
  const explain = async (): Promise<void> => {
    const failure = await streamFailure(url, closing.signal);
    if (closing.signal.aborted) return;
    if (failure?.status === UNAUTHENTICATED) leaveToSignIn();
    else {
      setConnection(stateOf(failure));
      listener.givenUp(isRefusal(failure) ? failure : undefined);
    }
    timer = setTimeout(connect, pauseMs);
    pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS);
  };
  const connect = (): void => {
    source = new EventSource(url);
    source.addEventListener('open', () => {
      pauseMs = FIRST_PAUSE_MS;
      listener.open();
      setConnection('live');
    });
    source.addEventListener('event', (message: MessageEvent<string>) => {
      reached(message);
      listener.event(message);
    });
    source.addEventListener('checkpoint', reached); // its id is the position up to which nothing else matches
    source.addEventListener('error', () => {
      if (source.readyState === EventSource.CLOSED) void explain();
      else {
        setConnection('lost');
        listener.lost();
      }
    });
  };
  connect();
  return () => {
    closing.abort();
    clearTimeout(timer);
    source.close();
    forgetFailed();
  };
};
