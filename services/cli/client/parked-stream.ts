import {
  OperationsService,
  ParkedStreamListSchema,
} from '../../../proto/gen/platformidl/eventlog/operations_service_pb.js';
import { connected } from './connection/connect.js';
import type { ConnectionFlags } from './connection/profile.js';
import { jsonOfMessage, print } from './output/documents.js';
import { type Columns, printHeader } from './output/header.js';
import { cell, coloured, oneLine } from './output/text.js';

/** The flags of the commands of `parked-stream`. */
export type ParkedStreamFlags = ConnectionFlags & { readonly json?: boolean };

type ShownStream = {
  readonly stream: string;
  readonly position: string;
  readonly reason: string;
  readonly inViews: boolean;
  readonly inProcess: boolean;
  readonly retryRequestedAt?: string;
  readonly retryRequestedBy: string;
};

/** The most streams that are printed. */
const MAX_STREAMS = 1_000;

const COLUMNS: Columns = [
  ['POSITION', 10],
  ['PARKED BY', 14],
  ['STREAM AND REASON', 0],
];

/** The line of a parked stream: cells where the header has its columns. */
export const lineOf = ({ stream, position, reason, inViews, inProcess, ...retry }: ShownStream): string => {
  const by = [...(inViews ? ['views'] : []), ...(inProcess ? ['process'] : [])].join(', ');
  const { retryRequestedAt: at, retryRequestedBy: caller } = retry;
  const retryText = at === undefined ? '' : `  ${coloured(`retried ${at}${caller && ` by ${caller}`}`, 'grey')}`;
  return `${cell(position, 10)}  ${cell(by, 14)}  ${oneLine(stream)}  ${oneLine(reason)}${retryText}`;
};

/**
 * Prints the parked streams: the position of the event at which each has stopped, what has parked it, the reason.
 * The number of streams that are left out is printed on standard error.
 *
 * @throws {Refused} when the server refuses; the message has its reason.
 */
export const listParkedStreams = (flags: ParkedStreamFlags): Promise<void> =>
  connected(flags, async (connection) => {
    const list = await connection.call(OperationsService.method.listParkedStreams, { limit: MAX_STREAMS });
    const shown = jsonOfMessage(ParkedStreamListSchema, list) as unknown as { readonly streams: ShownStream[] };
    if (flags.json !== true) printHeader(COLUMNS);
    for (const each of shown.streams) print(flags.json === true ? JSON.stringify(each) : lineOf(each));
    const hidden = list.total - list.streams.length;
    if (hidden > 0) process.stderr.write(`flightlog: there are ${hidden} more\n`);
  });

/**
 * Asks for a parked stream to be read again.
 *
 * @throws {Refused} when there is no such stream, or the server refuses for another reason.
 */
export const retryParkedStream = (stream: string, flags: ParkedStreamFlags): Promise<void> =>
  connected(flags, async (connection) => {
    await connection.call(OperationsService.method.retryParkedStream, { stream });
  });
