import { fromBinary } from '@bufbuild/protobuf';
import type { Kafka, KafkaMessage } from 'kafkajs';
import { CloudEventSchema } from '../../../proto/gen/io/cloudevents/v1/cloudevents_pb.js';
import type { EventLog } from '../../kernel/ports/event-store.js';
import { categoryOf } from '../../kernel/stream.js';
import { ExportRefused } from './failure.js';
import { isSelected, type EventSelection } from './selection.js';
import { readTopics } from './topic-reader.js';

export type ReconcileOptions = {
  readonly kafka: Kafka;
  readonly log: EventLog;
  readonly topics: readonly string[];
  readonly categories: readonly string[];
  readonly selection: EventSelection;
  readonly groupPrefix: string;
  /**
   * Called with the number of offsets that are read, and their total. Both include the offsets of transaction markers
   * and of removed messages.
   */
  readonly onProgress: (read: bigint, total: bigint) => void;
};

/** Result of a comparison; the first ten differences are listed as `kind stream@revision`. */
export type ReconcileResult = {
  readonly expected: number;
  /** All messages in the topics, also those of events that are not selected. */
  readonly found: number;
  readonly missing: number;
  readonly doubled: number;
  readonly reordered: number;
  readonly examples: readonly string[];
};

const MAX_EXAMPLES = 10;

type StreamRevision = { readonly stream: string; readonly revision: number };

/** The attributes of a message that name its event; unknown in a message that is not from an export. */
type Attributes = { readonly stream?: unknown; readonly sequence?: unknown };

const fromJson = (value: Buffer): Attributes => JSON.parse(value.toString()) as Attributes;

const fromProtobuf = (value: Buffer): Attributes => {
  const { attributes } = fromBinary(CloudEventSchema, value);
  return { stream: attributes['stream']?.attr.value, sequence: attributes['sequence']?.attr.value };
};

const isNumber = (sequence: unknown): sequence is string => typeof sequence === 'string' && /^\d+$/u.test(sequence);

/** The event of a message; `undefined` when the bytes are not a CloudEvent of an export, in any of its formats. */
export const revisionIn = (headers: KafkaMessage['headers'], value: Buffer): StreamRevision | undefined => {
  const isProtobuf = String(headers?.['content-type']).startsWith('application/cloudevents+protobuf');
  try {
    const { stream, sequence } = isProtobuf ? fromProtobuf(value) : fromJson(value);
    return typeof stream === 'string' && isNumber(sequence) ? { stream, revision: Number(sequence) } : undefined;
  } catch {
    return undefined;
  }
};

/** Revisions by stream, in the order in which they were found. */
type Found = ReadonlyMap<string, number[]>;

const append = (map: Map<string, number[]>, { stream, revision }: StreamRevision): void => {
  const revisions = map.get(stream);
  if (revisions) revisions.push(revision);
  else map.set(stream, [revision]);
};

const inTopics = async ({ kafka, topics, groupPrefix, onProgress }: ReconcileOptions): Promise<Found> => {
  const found = new Map<string, number[]>();
  let odd: string | undefined;
  const onMessage = ({ headers, value, offset }: KafkaMessage, topic: string): void => {
    if (value === null) return;
    const place = revisionIn(headers, value);
    if (place) append(found, place);
    else odd ??= `topic ${topic}, offset ${offset}`;
  };
  await readTopics(kafka, topics, onMessage, {
    groupPrefix,
    onProgress: (left, total) => onProgress(total - left, total),
  });
  // Thrown after all are read: the client would retry an error thrown while reading again and again.
  if (odd !== undefined)
    throw new ExportRefused(`${odd}: the message is no CloudEvent of an export: name another topic`);
  return found;
};

const inLog = async ({ log, selection, categories }: ReconcileOptions): Promise<Found> => {
  const known = new Set(categories);
  const expected = new Map<string, number[]>();
  for await (const { events, position } of log.readLog({ after: selection.from, isInclusive: true })) {
    for (const event of events)
      if (known.has(categoryOf(event.stream)) && isSelected(event, selection))
        append(expected, { stream: event.stream, revision: Number(event.revision) });
    if (position >= selection.to) break;
  }
  return expected;
};

type Differences = { readonly missing: number[]; readonly doubled: number[]; readonly reordered: number[] };

/** Compares the revisions of one stream. Messages of events that are not expected, such as later ones, are ignored. */
const compare = (expected: readonly number[], found: readonly number[]): Differences => {
  const wanted = new Set(expected);
  const seen = new Set<number>();
  const doubled: number[] = [];
  const reordered: number[] = [];
  let last = -1;
  for (const revision of found.filter((each) => wanted.has(each))) {
    if (seen.has(revision)) doubled.push(revision);
    else if (revision < last) reordered.push(revision);
    seen.add(revision);
    last = Math.max(last, revision);
  }
  return { missing: expected.filter((revision) => !seen.has(revision)), doubled, reordered };
};

/**
 * Compares the messages in topics with the events in the log.
 *
 * @throws {ExportRefused} for a message that is no CloudEvent of an export.
 */
export const reconcile = async (options: ReconcileOptions): Promise<ReconcileResult> => {
  const expected = await inLog(options);
  const found = await inTopics(options);
  const sums = { expected: 0, found: 0, missing: 0, doubled: 0, reordered: 0 };
  const examples: string[] = [];
  for (const revisions of found.values()) sums.found += revisions.length;
  for (const [stream, revisions] of expected) {
    sums.expected += revisions.length;
    for (const [kind, odd] of Object.entries(compare(revisions, found.get(stream) ?? []))) {
      sums[kind as keyof Differences] += odd.length;
      examples.push(...odd.slice(0, MAX_EXAMPLES - examples.length).map((revision) => `${kind} ${stream}@${revision}`));
    }
  }
  return { ...sums, examples };
};
