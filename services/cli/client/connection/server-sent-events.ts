/** One Server-Sent Event: the values of its fields. */
export type ServerSentEvent = { readonly id: string; readonly event: string; readonly data: string };

const fieldsOf = (block: string): ServerSentEvent => {
  const fields = { id: '', event: '', data: '' };
  for (const line of block.split('\n')) {
    const [, name = '', value = ''] = /^(\w+): ?(.*)$/u.exec(line) ?? [];
    if (name === 'id' || name === 'event' || name === 'data') fields[name] = value;
  }
  return fields;
};

/** Reads the Server-Sent Events of a response, until it ends. */
export const eventsIn = async function* (response: Response): AsyncGenerator<ServerSentEvent> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of response.body ?? []) {
    rest += decoder.decode(chunk as Uint8Array, { stream: true });
    const blocks = rest.split('\n\n');
    rest = blocks.pop() ?? '';
    yield* blocks.map(fieldsOf);
  }
};
