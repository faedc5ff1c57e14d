import { once } from 'node:events';
import { resolve } from 'node:path';
import type { EventLog } from '../kernel/event-store.js';
import { metadataOf, type RecordedEvent } from '../kernel/event.js';
import { streamName, type StreamName } from '../kernel/stream.js';
import { sqliteLogReader } from '../store/sqlite-log-reader.js';
import type { Configuration } from './configuration.js';
import { CannotStart } from './ports.js';
import { readable } from './readable.js';

/** The flags of `log cat`. */
export type LogCatFlags = {
  readonly stream?: string;
  readonly execution?: string;
  readonly from: bigint;
  readonly limit?: number;
  readonly follow: boolean;
};

const lineOf = (event: RecordedEvent): string => {
  const metadata = metadataOf(event);
  return JSON.stringify({
    position: Number(event.position),
    stream: event.stream,
    revision: Number(event.revision),
    type: event.type,
    recordedAt: new Date(metadata.recordedAtMs).toISOString(),
    actor: metadata.actor,
    data: readable(event.type, event.data),
  });
};

const streamOf = ({ stream, execution }: LogCatFlags): StreamName | undefined => {
  if (execution === undefined) return stream as StreamName | undefined;
  const parts = execution.split('/');
  if (parts.length !== 3) throw new CannotStart(`--execution must be PROJECT/DOMAIN/NAME, not ${execution}`);
  return streamName('execution', parts);
};

/** Prints events until there are enough; answers whether there are. A closed pipe ends the process quietly. */
const printer = (flags: LogCatFlags): ((events: readonly RecordedEvent[]) => Promise<boolean>) => {
  const wanted = streamOf(flags);
  let left = flags.limit ?? Number.POSITIVE_INFINITY;
  process.stdout.on('error', () => process.exit(0));
  return async (events) => {
    const chosen = events.filter(
      (event) => event.position >= flags.from && (wanted === undefined || event.stream === wanted),
    );
    const lines = chosen.slice(0, left).map((event) => `${lineOf(event)}\n`);
    left -= lines.length;
    if (lines.length > 0 && !process.stdout.write(lines.join(''))) await once(process.stdout, 'drain');
    return left <= 0;
  };
};

const printAll = async (log: EventLog, flags: LogCatFlags): Promise<void> => {
  const print = printer(flags);
  const wanted = streamOf(flags);
  if (wanted !== undefined) {
    for await (const page of log.readStream(wanted)) if (await print(page)) return;
    return;
  }
  const after = flags.from > 0n ? flags.from - 1n : 0n;
  for await (const page of log.readLog({ after })) if (await print(page.events)) return;
};

const follow = async (log: EventLog, flags: LogCatFlags): Promise<void> => {
  const print = printer(flags);
  const after = flags.from > 0n ? flags.from - 1n : 0n;
  await new Promise<void>((enough, fail) => {
    const subscription = log.subscribe({ after }, async ({ events }) => {
      if (await print(events)) enough();
    });
    subscription.ended.catch(fail);
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, enough);
  });
};

/** Prints the log, or a part of it, as one JSON object a line. */
export const logCat = async (configuration: Configuration, flags: LogCatFlags): Promise<void> => {
  const log = await sqliteLogReader({ directory: resolve(configuration.data) });
  try {
    await (flags.follow ? follow(log, flags) : printAll(log, flags));
  } finally {
    await log.close();
  }
};
