import { followStream } from './event-stream.js';
import { type ServerFailure, ServerUnreachable } from './failure.js';
import type { Scope } from './ids.js';
import { serverAddress } from './root.js';
import { isRefusal, streamFailure } from './stream-failure.js';
import { whileVisible } from './while-visible.js';

/** An event of the log, as the tail sends it; `text` is the whole event as JSON. */
export type TailedEvent = {
  readonly position: string;
  readonly stream: string;
  readonly type: string;
  readonly recordedAt: string;
  readonly actor: string;
  /** The id of the request that recorded the event. */
  readonly requestId: string;
  readonly text: string;
};

const fieldOf = (value: unknown, name: string): string => {
  const field = typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : '';
  return typeof field === 'string' ? field : '';
};

const eventOf = ({ data, lastEventId }: MessageEvent<string>): TailedEvent => {
  const value: unknown = JSON.parse(data);
  return {
    position: lastEventId,
    stream: fieldOf(value, 'stream'),
    type: fieldOf(value, 'type'),
    recordedAt: fieldOf(value, 'recordedAt'),
    actor: fieldOf(value, 'actor'),
    requestId: fieldOf(value, 'correlationId'),
    text: JSON.stringify(value, null, 2),
  };
};

const addressOf = (parameters: Readonly<Record<string, string>>): URL => {
  const url = serverAddress('/api/v1/tail');
  for (const [name, value] of Object.entries(parameters))
    for (const each of value.split(',')) if (each.trim() !== '') url.searchParams.append(name, each.trim());
  return url;
};

/** The callbacks of a follower of the log. */
type TailListener = {
  readonly event: (event: TailedEvent) => void;
  /** Gets the refusal of the server; `undefined` when the log is followed, or the server cannot serve it now. */
  readonly refused: (refusal: ServerFailure | undefined) => void;
};

/**
 * Follows the log by the parameters of the tail, each of one or more values with commas between, until the returned
 * function is called. It follows while the page is looked at, and continues where it was when the page is looked at
 * again.
 */
export const followTail = (
  parameters: Readonly<Record<string, string>>,
  { event, refused }: TailListener,
): (() => void) => {
  const url = addressOf(parameters);
  return whileVisible(() =>
    followStream(url, {
      event: (message) => event(eventOf(message)),
      open: () => refused(undefined),
      lost: () => undefined,
      givenUp: refused,
    }),
  );
};

const failureOfStream = async (url: URL, signal: AbortSignal): Promise<Error> => {
  const failure = await streamFailure(url, signal);
  return isRefusal(failure) ? failure : new ServerUnreachable('the server cannot serve the log now');
};

/**
 * Reads the event at a position, or the first one after it, of a project and domain or of the whole log. It does not
 * change the state of the connection that the page shows. Without such an event it waits for one.
 *
 * @throws {ServerFailure} when the server refuses the person to read there.
 * @throws {ServerUnreachable} when the server cannot serve the log now.
 */
export const readEvent = async (
  position: bigint,
  scope: Scope | undefined,
  signal: AbortSignal,
): Promise<TailedEvent> => {
  const url = addressOf({ from: String(position), ...(scope && { project: scope.project, domain: scope.domain }) });
  const source = new EventSource(url);
  try {
    return await new Promise((resolve, reject) => {
      const stop = (): void => reject(signal.reason as Error);
      if (signal.aborted) stop();
      signal.addEventListener('abort', stop);
      source.addEventListener('event', (message: MessageEvent<string>) => resolve(eventOf(message)));
      source.addEventListener('error', () => {
        if (source.readyState === EventSource.CLOSED) void failureOfStream(url, signal).then(reject);
      });
    });
  } finally {
    source.close();
  }
};
