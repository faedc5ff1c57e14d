/** One Server-Sent Event: https://html.spec.whatwg.org/multipage/server-sent-events.html */
export type ServerSentEvent = {
  /** The client sends the last one as `Last-Event-ID` when it connects again. */
  readonly id?: string;
  readonly type: string;
  /** One line. */
  readonly data: string;
};

/** Encodes an event for sending. */
export const encodedEvent = ({ id, type, data }: ServerSentEvent): Buffer =>
  Buffer.from(`${id === undefined ? '' : `id: ${id}\n`}event: ${type}\ndata: ${data}\n\n`);
