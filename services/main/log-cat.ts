import { once } from 'node:events';
import { resolve } from 'node:path';
import type { EventLog } from '../kernel/event-store.js';
import { metadataOf, type RecordedEvent } from '../kernel/event.js';
import type { PayloadStore } from '../kernel/payload-store.js';
import { categoryOf, streamName, type StreamName } from '../kernel/stream.js';
import { uuidText } from '../reactors/export-to-kafka/cloud-event.js';
import type { Configuration } from './configuration.js';
import { openOwnLog } from './log-source.js';
import { openPayloads } from './payloads.js';
import { readable } from './readable.js';
import { CannotGoOn, forSetting } from './told.js';

/** The flags of `log cat`. */
export type LogCatFlags = {
  readonly stream?: string;
  /** `PROJECT/DOMAIN/NAME`. */
  readonly execution?: string;
  readonly from?: bigint;
  readonly limit?: number;
  readonly follow: boolean;
};

/** What is printed, and where it is read. */
type Cat = {
  readonly log: EventLog;
  readonly payloads: PayloadStore;
  /** The one stream that is wanted. */
  readonly stream: StreamName | undefined;
  readonly from: bigint;
  readonly limit: number;
};

const lineOf = async (event: RecordedEvent, dataOf: (event: RecordedEvent) => Promise<Buffer>): Promise<string> => {
  const metadata = metadataOf(event);
  const line = JSON.stringify({
    position: Number(event.position),
    stream: event.stream,
    revision: Number(event.revision),
    type: event.type,
    id: uuidText(event.id),
    schema: metadata.schema,
    recordedAt: new Date(metadata.recordedAtMs).toISOString(),
    actor: metadata.actor,
    commandId: metadata.commandId,
    correlationId: metadata.$correlationId ?? '',
    causationId: metadata.$causationId ?? '',
  });
  return `${line.slice(0, -1)},"data":${(await dataOf(event)).toString()}}\n`;
};

const streamOf = ({ stream, execution }: LogCatFlags): StreamName | undefined =>
  execution === undefined ? (stream as StreamName | undefined) : streamName('execution', execution.split('/'));

/** Prints the events that are wanted until there are enough; answers whether there are. */
const printer = ({ payloads, stream, from, limit }: Cat): ((events: readonly RecordedEvent[]) => Promise<boolean>) => {
  let left = limit;
  const dataOf = readable(payloads);
  const isWanted = (event: RecordedEvent): boolean =>
    event.position >= from && (stream === undefined || event.stream === stream);
  return async (events) => {
    for (const event of events.filter(isWanted)) {
      if (left <= 0) break;
      if (!process.stdout.write(await lineOf(event, dataOf))) await once(process.stdout, 'drain');
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
  if (!isThere) throw new CannotGoOn(`nothing is recorded of ${stream}`);
};

const afterOf = (from: bigint): bigint => (from > 0n ? from - 1n : 0n);

const printLog = async (cat: Cat): Promise<void> => {
  const print = printer(cat);
  for await (const page of cat.log.readLog({ after: afterOf(cat.from) })) if (await print(page.events)) return;
};

const follow = async (cat: Cat): Promise<void> => {
  const print = printer(cat);
  const { log, stream, from } = cat;
  const filter = stream === undefined ? {} : { filter: { categories: [categoryOf(stream)] } };
  await new Promise<void>((enough, fail) => {
    const subscription = log.subscribe({ after: afterOf(from), ...filter }, async ({ events }) => {
      if (await print(events)) enough();
    });
    subscription.ended.catch(fail);
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, enough);
  });
};

/**
 * Prints the log, or a part of it, as one JSON object a line. A reader that goes away ends the process quietly.
 *
 * @throws {CannotGoOn} when the stream that is wanted has no event, unless more may come.
 * @throws {DataDirectoryUnusable} when there is no log.
 */
export const logCat = async (
  { data, event_store: eventStore, payload_store: location }: Configuration,
  flags: LogCatFlags,
): Promise<void> => {
  const directory = resolve(data);
  const log = await openOwnLog({ data, event_store: eventStore });
  const payloads = await forSetting('payload_store', () => openPayloads({ directory, location }));
  const stream = streamOf(flags);
  const { from = 0n, limit = Number.POSITIVE_INFINITY } = flags;
  const cat: Cat = { log, payloads, stream, from, limit };
  process.stdout.on('error', () => process.exit(0));
  try {
    if (flags.follow) await follow(cat);
    else if (stream === undefined) await printLog(cat);
    else await printStream(cat, stream);
  } finally {
    await log.close();
    await payloads.close();
  }
};
