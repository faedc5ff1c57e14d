/** One Server-Sent Event: the values of its fields, empty where it has none. Its `data` lines are joined by `\n`. */
export type ServerSentEvent = { readonly id: string; readonly event: string; readonly data: string };

const LINE_END = /\r\n|\n|\r(?!$)/u; // a `\r` at the end may be the first half of `\r\n`

/**
 * The lines of a text that comes in chunks, without their ends: `\n`, `\r\n` or `\r`. A last line without an end is
 * left out. A line of many chunks is searched once, at its end.
 */
const linesOf = async function* (response: Response): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  let endsWithReturn = false;
  for await (const chunk of response.body ?? []) {
    const text = decoder.decode(chunk as Uint8Array, { stream: true });
    rest += text;
    if (!endsWithReturn && !/[\r\n]/u.test(text)) continue;
    const lines = rest.split(LINE_END);
    rest = lines.pop() ?? '';
    endsWithReturn = rest.endsWith('\r');
    yield* lines;
  }
  if (endsWithReturn) yield rest.slice(0, -1);
};

const eventOf = (fields: readonly (readonly [name: string, value: string])[]): ServerSentEvent => {
  const last = (wanted: string): string => fields.findLast(([name]) => name === wanted)?.[1] ?? '';
  const data = fields.filter(([name]) => name === 'data').map(([, value]) => value);
  return { id: last('id'), event: last('event'), data: data.join('\n') };
};

/**
 * Reads the Server-Sent Events of a response, until it ends. As the specification says, an event without data is left
 * out, such as one that is only a comment, and so is one that the end of the response cuts off:
 * https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
 */
export const eventsIn = async function* (response: Response): AsyncGenerator<ServerSentEvent> {
  let fields: (readonly [string, string])[] = [];
  for await (const line of linesOf(response)) {
    if (line !== '') {
      const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/su.exec(line) ?? [];
      fields.push([name, value]);
      continue;
    }
    if (fields.some(([name]) => name === 'data')) yield eventOf(fields);
    fields = [];
  }
};
