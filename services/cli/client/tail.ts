import { setTimeout as pause } from 'node:timers/promises';
import { connected } from './connection/connect.js';
import type { Connection, TailedEvent, TailInit } from './connection/connection.js';
import type { ConnectionFlags } from './connection/profile.js';
import { isForLater } from './connection/refusal.js';
import { print } from './output/documents.js';
import { cell, colourOf, oneLine, timeCell } from './output/text.js';

/** The flags of `tail`. */
export type TailFlags = ConnectionFlags & {
  /** The beginning: `start`, `now`, a position of the log, or a time such as `2026-03-02T09:58:16Z`. */
  readonly from: string;
  readonly project?: string;
  readonly domain?: string;
  readonly name?: string;
  readonly node?: string;
  /** Categories of streams, such as `execution`. */
  readonly category?: readonly string[];
  readonly type?: readonly string[];
  readonly phase?: readonly string[];
  /** Labels of executions, `key=value`: only events of executions that have all of them. */
  readonly label?: readonly string[];
  readonly limit?: number;
  readonly json: boolean;
};

/** The JSON of an event, as far as it is printed. An event of another writer may have no time and no actor. */
type Line = {
  readonly position: number;
  readonly recordedAt?: string;
  readonly stream: string;
  readonly type: string;
  readonly actor?: string;
  readonly data: { readonly phase?: string; readonly node?: string; readonly attempt?: number };
};

const RETRY_MS = 1_000;

const subjectOf = ({ stream, data: { node, attempt } }: Line): string =>
  [stream, ...(node === undefined ? [] : [node]), ...(attempt === undefined ? [] : [`#${attempt}`])].join(' ');

/** Makes the line of an event from its JSON. */
export const lineOf = (text: string): string => {
  const event = JSON.parse(text) as Line;
  const { actor = '', recordedAt = '' } = event;
  const { phase = '' } = event.data;
  return [
    cell(String(event.position), 9),
    timeCell(recordedAt),
    cell(event.type, 22),
    cell(phase, 10, colourOf(phase)),
    cell(actor === '' ? '-' : actor, 10),
    oneLine(subjectOf(event)),
  ].join('  ');
};

const requestOf = ({ from, project, domain, name, node, category, type, phase, label }: TailFlags): TailInit => ({
  from,
  project: project ?? '',
  domain: domain ?? '',
  name: name ?? '',
  nodeId: node ?? '',
  categories: [...(category ?? [])],
  types: [...(type ?? [])],
  phases: [...(phase ?? [])],
  labels: [...(label ?? [])],
});

/**
 * Yields events of the log and checkpoints without end. After a lost connection, or a refusal of an overloaded server,
 * it connects again, and resumes after the last position that the server has sent. A tail begins with an event or a
 * checkpoint, so there is such a position soon; a connection that is lost before is an error, because events could be
 * missed.
 */
export const eventsOf = async function* (
  connection: Pick<Connection, 'tail'>,
  request: TailInit,
): AsyncGenerator<TailedEvent, void> {
  const { signal } = new AbortController(); // never aborted: the command ends with its process
  let lastEventId = '';
  for (;;) {
    try {
      for await (const event of connection.tail({ ...request, lastEventId }, signal)) {
        lastEventId = event.position;
        yield event;
      }
    } catch (error) {
      if (lastEventId === '' || !isForLater(error)) throw error;
    }
    await pause(RETRY_MS);
  }
};

/**
 * Prints the events of the log as they are recorded, one line each, until Ctrl-C or the limit.
 *
 * @throws {Unreachable} when the server cannot be reached at the start; later the tail waits for it.
 * @throws {ConnectionLost} when the connection is lost before its first event or checkpoint.
 * @throws {ForeignAnswer} when another program than flightlog answers.
 * @throws {Refused} when the server refuses; the message has its reason.
 */
export const tail = (flags: TailFlags): Promise<void> =>
  connected(flags, async (connection) => {
    if (flags.type !== undefined) (await import('../log/unknown-types.js')).printUnknownTypes(flags.type);
    let left = flags.limit ?? Infinity;
    for await (const { text } of eventsOf(connection, requestOf(flags))) {
      if (text === undefined) continue; // a checkpoint
      print(flags.json ? text : lineOf(text));
      left -= 1;
      if (left <= 0) return;
    }
  });
