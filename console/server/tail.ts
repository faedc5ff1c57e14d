import { followStream } from './event-stream.js';
import { serverAddress } from './root.js';

/** An event of the log, as the tail has it. */
export type TailedEvent = {
  readonly position: string;
  readonly stream: string;
  readonly type: string;
  readonly recordedAt: string;
  readonly actor: string;
  /** The id of the request that was answered with it. */
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

/** Follows the log by the parameters of the tail, until the returned function is called. */
export const followTail = (
  parameters: Readonly<Record<string, string>>,
  event: (event: TailedEvent) => void,
): (() => void) => {
  const url = serverAddress('/api/v1/tail');
  for (const [name, value] of Object.entries(parameters))
    for (const each of value.split(',')) url.searchParams.append(name, each.trim());
  return followStream(url, {
    event: (message) => event(eventOf(message)),
    open: () => undefined,
    lost: () => undefined,
  });
};

/** Reads the event at a position, or the first one after it, until it is aborted. */
export const readEvent = (position: bigint, signal: AbortSignal): Promise<TailedEvent> =>
  new Promise((resolve, reject) => {
    const stop = followTail({ from: String(position) }, (event) => {
      stop();
      resolve(event);
    });
    signal.addEventListener('abort', () => {
      stop();
      reject(signal.reason as Error);
    });
  });
