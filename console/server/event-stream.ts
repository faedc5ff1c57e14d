import { forgetLost, setConnection } from './connection.js';

/** The callbacks of a follower of an event stream. */
export type StreamListener = {
  readonly event: (message: MessageEvent<string>) => void;
  readonly open: () => void;
  /** The stream has ended, or the server refused it or did not answer. It is opened again. */
  readonly lost: (why: 'refused' | 'unreachable') => void;
};

const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 30_000;

/**
 * Follows a stream of Server-Sent Events until the returned function is called. A browser connects again by itself after
 * a connection was lost; it gives up after an answer that is no event stream, such as the 503 of a proxy whose server is
 * starting. Then the stream is opened again after a pause, which grows from 1 s to 30 s, and continues after its last
 * event.
 */
export const followStream = (url: URL, { event, open, lost }: StreamListener): (() => void) => {
  let source: EventSource;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let pauseMs = FIRST_PAUSE_MS;
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
      const isRefused = source.readyState === EventSource.CLOSED;
      setConnection('lost');
      lost(isRefused ? 'refused' : 'unreachable');
      if (!isRefused) return;
      timer = setTimeout(connect, pauseMs);
      pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS);
    });
  };
  connect();
  return () => {
    clearTimeout(timer);
    source.close();
    forgetLost();
  };
};
