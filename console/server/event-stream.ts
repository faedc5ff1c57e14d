import { forgetFailed, setConnection } from './connection.js';
import { leaveToSignIn } from './sign-in.js';
import { isRefusal, streamStatus } from './stream-status.js';

/** The callbacks of a follower of an event stream. */
export type StreamListener = {
  readonly event: (message: MessageEvent<string>) => void;
  readonly open: () => void;
  /** The stream has ended, or the server refused it or did not answer. It is opened again. */
  readonly lost: (why: 'refused' | 'unreachable') => void;
};

const UNAUTHENTICATED = 401;

const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 30_000;

/**
 * Follows a stream of Server-Sent Events until the returned function is called. A browser connects again by itself after
 * a connection was lost; it gives up after an answer that is no event stream, such as the 503 of a proxy whose server is
 * starting, or a refusal. Then the stream is opened again after a pause, which grows from 1 s to 30 s, and continues
 * after its last event.
 */
export const followStream = (url: URL, { event, open, lost }: StreamListener): (() => void) => {
  const closing = new AbortController();
  let source: EventSource;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let pauseMs = FIRST_PAUSE_MS;
  const givenUp = async (): Promise<void> => {
    const status = await streamStatus(url, closing.signal);
    if (closing.signal.aborted) return;
    if (status === UNAUTHENTICATED) {
      leaveToSignIn();
      return;
    }
    setConnection(isRefusal(status) ? 'refused' : 'lost');
    lost('refused');
    timer = setTimeout(connect, pauseMs);
    pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS);
  };
  const connect = (): void => {
    source = new EventSource(url);
    source.addEventListener('open', () => {
      pauseMs = FIRST_PAUSE_MS;
      open();
      setConnection('live');
    });
    source.addEventListener('event', (message: MessageEvent<string>) => {
      url.searchParams.set('last_event_id', message.lastEventId);
      event(message);
    });
    source.addEventListener('error', () => {
      if (source.readyState === EventSource.CLOSED) void givenUp();
      else {
        setConnection('lost');
        lost('unreachable');
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
