import { setTimeout as pause } from 'node:timers/promises';
import { OperatorError } from '../../config/operator-errors.js';
import { cell, coloured, colourOf, oneLine } from './lines.js';
import { get, type Query, type ServerFlags } from './server-client.js';

/** The flags of `tail`. */
export type TailFlags = Pick<ServerFlags, 'server' | 'tokenFile'> & {
  readonly from: string;
  readonly project?: string;
  readonly domain?: string;
  readonly name?: string;
  readonly node?: string;
  readonly category?: readonly string[];
  readonly type?: readonly string[];
  readonly phase?: readonly string[];
  readonly label?: readonly string[];
  readonly limit?: number;
  readonly json: boolean;
};

type Line = {
  readonly position: number;
  readonly recordedAt: string;
  readonly stream: string;
  readonly type: string;
  readonly actor: string;
  readonly data: { readonly phase?: string; readonly node?: string; readonly attempt?: number };
};

/** One Server-Sent Event: the values of its fields. */
type Received = { readonly id: string; readonly event: string; readonly data: string };

const RETRY_MS = 1_000;

const subjectOf = ({ stream, data: { node, attempt } }: Line): string =>
  [stream, ...(node === undefined ? [] : [node]), ...(attempt === undefined ? [] : [`#${attempt}`])].join(' ');

const lineOf = (text: string): string => {
  const event = JSON.parse(text) as Line;
  const { phase = '' } = event.data;
  return [
    cell(String(event.position), 9),
    coloured(event.recordedAt, 'grey'),
    cell(event.type, 22),
    cell(phase, 10, colourOf(phase)),
    cell(event.actor || '-', 10),
    oneLine(subjectOf(event)),
  ].join('  ');
};

const fieldsOf = (block: string): Received => {
  const fields = { id: '', event: '', data: '' };
  for (const line of block.split('\n')) {
    const [, name = '', value = ''] = /^(\w+): ?(.*)$/u.exec(line) ?? [];
    if (name === 'id' || name === 'event' || name === 'data') fields[name] = value;
  }
  return fields;
};

/** Reads the Server-Sent Events of a response. */
const eventsIn = async function* (response: Response): AsyncGenerator<Received> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of response.body ?? []) {
    rest += decoder.decode(chunk as Uint8Array, { stream: true });
    const blocks = rest.split('\n\n');
    rest = blocks.pop() ?? '';
    yield* blocks.map(fieldsOf);
  }
};

/** Asks for the events after the last one; `undefined` when the server is away and some were received before. */
const connect = async (flags: TailFlags, lastEventId: string): Promise<Response | undefined> => {
  const { from, project, domain, name, node, category, type, phase, label } = flags;
  const filters: Query = { project, domain, name, nodeId: node, categories: category, types: type, phases: phase };
  const headers = { accept: 'text/event-stream', ...(lastEventId && { 'last-event-id': lastEventId }) };
  const asked = { ...flags, project: project ?? '', domain: domain ?? '' };
  try {
    return await get(asked, '/api/v1/tail', { ...filters, labels: label, from }, headers);
  } catch (error) {
    if (lastEventId !== '' && error instanceof OperatorError) return undefined;
    throw error;
  }
};

/** The events of a response, until the connection is lost. */
const untilLost = async function* (response: Response | undefined): AsyncGenerator<Received> {
  try {
    if (response) yield* eventsIn(response);
  } catch {
    // the caller connects again
  }
};

/** Follows the log until `print` returns true; connects again after the connection was lost, from where it was. */
const follow = async (flags: TailFlags, print: (event: Received) => boolean): Promise<void> => {
  let lastEventId = '';
  for (;;) {
    for await (const event of untilLost(await connect(flags, lastEventId))) {
      lastEventId = event.id;
      if (event.event === 'event' && print(event)) return;
    }
    await pause(RETRY_MS);
  }
};

/**
 * Prints the events of the log as they are recorded, one line each, until Ctrl-C or the limit.
 *
 * @throws {OperatorError} when the server cannot be reached at first, or refuses, with its reason.
 */
export const tail = async (flags: TailFlags): Promise<void> => {
  let left = flags.limit ?? Infinity;
  process.stdout.on('error', () => process.exit(0));
  await follow(flags, ({ data }) => {
    process.stdout.write(`${flags.json ? data : lineOf(data)}\n`);
    left -= 1;
    return left <= 0;
  });
  process.exit(0);
};
