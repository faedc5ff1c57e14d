import { expect, it } from 'vitest';
import { eventsIn, type ServerSentEvent } from '../../../services/cli/client/connection/server-sent-events.js';

/** The events of a response whose body comes in these pieces. */
const eventsOf = async (pieces: readonly string[]): Promise<ServerSentEvent[]> => {
  const bytes = pieces.map((piece) => new TextEncoder().encode(piece));
  const events: ServerSentEvent[] = [];
  for await (const event of eventsIn(new Response(ReadableStream.from(bytes)))) events.push(event);
  return events;
};

const TEXT = [': comment', '', 'id: 7', 'event: event', 'data: {"a":', 'data:1}', '', 'id:8', 'data: two', '', ''];
const EVENTS = [
  { id: '7', event: 'event', data: '{"a":\n1}' },
  { id: '8', event: '', data: 'two' },
];

it.each([
  ['\\n', '\n'],
  ['\\r\\n', '\r\n'],
  ['\\r', '\r'],
])('the lines of events may end with %s, wherever the body is cut into pieces', async (_name, end) => {
  const text = TEXT.join(end);
  expect(await eventsOf([text])).toEqual(EVENTS);
  expect(await eventsOf(Array.from(text))).toEqual(EVENTS);
});

it('an event that the end of the response cuts off is left out', async () => {
  expect(await eventsOf(['data: whole\n\ndata: cut off\n'])).toEqual([{ id: '', event: '', data: 'whole' }]);
});
