import type { FastifyReply } from 'fastify';

import type { Sent } from '../dispatch/dispatch.js';
import { closeInTime, drained, type MaxStall } from '../stalled-reader.js';

/** One Server-Sent Event: https://html.spec.whatwg.org/multipage/server-sent-events.html */
type ServerSentEvent = {
  /** The client sends the last one as `Last-Event-ID` when it connects again. */
  readonly id?: string;
  readonly type: string;
  /** One line. */
  readonly data: string;
};

/** Encodes an event for sending. */
export const encodedEvent = ({ id, type, data }: ServerSentEvent): Buffer =>
  Buffer.from(`${id === undefined ? '' : `id: ${id}\n`}event: ${type}\ndata: ${data}\n\n`);

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  // nginx and others would hold the events back: https://nginx.org/en/docs/http/ngx_http_proxy_module.html
  'x-accel-buffering': 'no',
};

/**
 * Answers a request with encoded Server-Sent Events until they end or the client leaves. The headers are sent with the
 * first event, or at the end where there is none, so that a request that fails before is answered with its status.
 *
 * @returns a length of 0: nothing of it is in memory.
 * @throws what the events throw. If the headers were sent already, the connection is closed first, so that the client
 * connects again; then nothing is thrown when the client had left before.
 */
export const sendEvents = async (
  reply: FastifyReply,
  events: AsyncIterable<Uint8Array>,
  { disconnected, maxStallMs }: { readonly disconnected: AbortSignal; readonly maxStallMs: MaxStall },
): Promise<Sent> => {
  const hangUp = (): void => void reply.raw.destroy();
  const begin = (): void => {
    if (reply.sent) return;
    reply.hijack();
    reply.raw.writeHead(200, { ...(reply.getHeaders() as Record<string, string>), ...HEADERS });
  };
  try {
    for await (const some of events) {
      begin();
      if (!reply.raw.write(some)) await drained(reply.raw, disconnected, { maxStallMs, hangUp });
    }
  } catch (thrown) {
    if (!reply.sent) throw thrown;
    reply.raw.destroy();
    if (!disconnected.aborted) throw thrown;
  }
  begin();
  reply.raw.end();
  closeInTime(reply.raw, maxStallMs, hangUp);
  return { length: 0 };
};
