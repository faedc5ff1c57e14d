import { once } from 'node:events';
import type { EventLog } from '../../kernel/ports/event-store.js';
import type { RecordedEvent } from '../../kernel/event.js';
import type { PayloadStore } from '../../kernel/ports/payload-store.js';
import type { StreamName } from '../../kernel/stream.js';
import type { Configuration } from '../../config/configuration.js';
import {
  beginAfter,
  type LogStart,
  type Selection,
  selectionOf,
  type SelectionFlags,
  startOf,
} from './cat-selection.js';
import { openOwnLog } from '../../main/log/log-source.js';
import { openOwnPayloads } from '../../main/payloads.js';
import { eventLine } from '../../event-json/event-line.js';
import { readable } from '../../event-json/readable.js';
import { endWithReader } from '../client/output/reader.js';
import { printUnknownTypes } from './unknown-types.js';
import { OperatorError } from '../../config/operator-errors.js';

/** The flags of `log cat`. */
export type LogCatFlags = SelectionFlags & {
  readonly limit?: number;
  readonly follow: boolean;
};

/** The selection to print, and the stores that it is read from. */
type Cat = {
  readonly log: EventLog;
  readonly payloads: PayloadStore;
  readonly selection: Selection;
  /** Events after this position are printed. */
  readonly after: bigint;
  /** The beginning of the read: at or before the first event to print. */
  readonly start: LogStart;
  readonly limit: number;
  /** The types of the events that were printed. */
  readonly found: Set<string>;
};

/** Makes a function that prints the selected events, up to the limit; it returns true once the limit is reached. */
const printer = ({ payloads, selection, after, limit, found }: Cat) => {
  let left = limit;
  const dataOf = readable(payloads);
  const isWanted = (event: RecordedEvent): boolean => event.position > after && selection.matches(event);
  return async (events: readonly RecordedEvent[]): Promise<boolean> => {
    for (const event of events.filter(isWanted)) {
      if (left <= 0) break;
      if (!process.stdout.write(await eventLine(event, dataOf))) await once(process.stdout, 'drain');
      found.add(event.type);
      left -= 1;
    }
    return left <= 0;
  };
};

const printStream = async ({ log, ...cat }: Cat, stream: StreamName): Promise<void> => {
  const print = printer({ log, ...cat });
  let isThere = false;
  for await (const page of log.readStream(stream)) {
    isThere = true;
    if (await print(page)) return;
  }
  if (!isThere) throw new OperatorError(`stream ${stream} has no events`);
};

const printLog = async (cat: Cat): Promise<void> => {
  const print = printer(cat);
  const { log, selection, start } = cat;
  for await (const page of log.readLog({ ...start, filter: selection.filter })) if (await print(page.events)) return;
};

const follow = async (cat: Cat): Promise<void> => {
  const print = printer(cat);
  const { log, selection, start } = cat;
  await new Promise<void>((enough, fail) => {
    const subscription = log.subscribe({ ...start, filter: selection.filter }, async ({ events }) => {
      if (await print(events)) enough();
    });
    subscription.ended.catch(fail);
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, enough);
  });
};

/**
 * Prints the log, or selected events of it, as one JSON object a line, and on standard error the selected types that
 * are unknown and of which no event was printed. The process exits with code 0 when the reader of its standard output
 * goes away.
 *
 * @throws {OperatorError} when there is no log that can be used, or the selected stream has no event and `--follow` is
 * not given.
 */
export const logCat = async (configuration: Configuration, flags: LogCatFlags): Promise<void> => {
  const log = await openOwnLog(configuration);
  const payloads = await openOwnPayloads(configuration);
  const selection = selectionOf(flags);
  const { limit = Number.POSITIVE_INFINITY } = flags;
  endWithReader();
  try {
    const after = await beginAfter(log, selection, flags);
    const cat: Cat = { log, payloads, selection, after, start: startOf(flags, after), limit, found: new Set() };
    if (flags.follow) {
      printUnknownTypes(flags.type);
      await follow(cat);
      return;
    }
    if (selection.stream === undefined) await printLog(cat);
    else await printStream(cat, selection.stream);
    printUnknownTypes(flags.type, cat.found);
  } finally {
    await log.close();
    await payloads.close();
  }
};
