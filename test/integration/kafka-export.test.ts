import { fromBinary, toBinary, create } from '@bufbuild/protobuf';
import type { Admin } from 'kafkajs';
import { afterEach, describe, expect, it } from 'vitest';
import { CloudEventSchema } from '../../proto/gen/io/cloudevents/v1/cloudevents_pb.js';
import { ContentSchema, PayloadRefSchema } from '../../proto/gen/platformidl/eventlog/content_pb.js';
import { NodePhaseReportedSchema } from '../../proto/gen/platformidl/eventlog/execution_pb.js';
import type { EventStore } from '../../services/kernel/ports/event-store.js';
import { categoryOf, streamName } from '../../services/kernel/stream.js';
import { eventTypes } from '../../services/event-json/event-types.js';
import { codecs } from '../../services/main/models.js';
import { threadedMessages } from '../../services/main/export/threaded-messages.js';
import { kafkaClient } from '../../services/reactors/export-to-kafka/client.js';
import { uuidText } from '../../services/kernel/encoding/id-text.js';
import type { ExportFormat } from '../../services/reactors/export-to-kafka/message.js';
import { readPositions } from '../../services/reactors/export-to-kafka/positions.js';
import { entityText } from '../../services/reactors/export-to-kafka/cloud-events/stream-attributes.js';
import {
  type ExportOptions,
  type ExportToKafka,
  exportToKafka,
} from '../../services/reactors/export-to-kafka/reactor.js';
import { filePayloadStore } from '../../services/store/payloads/file-payload-store.js';
import {
  allEvents,
  executionStream,
  newEvent,
  nodeReported,
  openEmptyLog,
  report,
} from '../support/streams/filled-log.js';
import {
  type CloudEvent,
  consume,
  createTopic,
  eventsIn,
  kafkaBrokers,
  newPrefix,
} from '../support/servers/kafka-server.js';
import { until } from '../support/until.js';

/** An embedded log, and the prefix of the topics that it is exported to. */
type ExportedLog = { readonly directory: string; readonly store: EventStore; readonly prefix: string };

const brokers = (kafkaBrokers ?? '').split(',');
/** The exporters to be closed after the test. */
const exporters = new Set<ExportToKafka>();

/** Makes the messages on another thread, as a server does. */
const messagesFrom = (directory: string, format: ExportFormat) =>
  threadedMessages({ directory, location: { kind: 'file' }, source: { kind: 'embedded', directory }, format });

/** Starts an exporter; `reported` has the failures and takeovers that it reports. */
const exporting = (
  { directory, store, prefix }: ExportedLog,
  options: Partial<ExportOptions> = {},
): ExportToKafka & { readonly reported: string[] } => {
  const reported: string[] = [];
  const exporter = exportToKafka({
    connection: { brokers },
    log: store,
    topics: { prefix, partitions: 3, replicationFactor: -1 }, // -1: as the broker is configured
    messages: messagesFrom(directory, 'json'),
    categories: [...codecs.keys()],
    partitions: 1,
    worker: 'a worker',
    standbyMs: 300,
    onFailure: (error) => reported.push(String(error)),
    onTakenOver: (partition) => reported.push(`taken over ${partition}`),
    trace: () => undefined,
    ...options,
  });
  exporters.add(exporter);
  return Object.assign(exporter, { reported });
};

const newLog = async (): Promise<ExportedLog> => ({ ...(await openEmptyLog()), prefix: newPrefix() });

/** Expects every event of the log once in Kafka, and those of each stream in its order. */
const assertPublishedOnce = async ({ store, prefix }: ExportedLog): Promise<void> => {
  const log = await allEvents(store);
  const published = await until(
    () => consume(prefix),
    (messages) => eventsIn(messages).length >= log.length,
  );
  const events = eventsIn(published);
  expect(events.map(({ id }) => id).sort()).toEqual(log.map(({ id }) => uuidText(id)).sort());
  for (const stream of new Set(log.map((event) => event.stream)))
    expect(events.filter((event) => event.stream === stream).map(({ sequence }) => Number(sequence))).toEqual(
      log.filter((event) => event.stream === stream).map(({ revision }) => Number(revision)),
    );
};

/** Waits until at least this many events are in Kafka, and returns all that are. */
const untilPublished = async ({ prefix }: ExportedLog, count: number): Promise<readonly CloudEvent[]> =>
  eventsIn(
    await until(
      () => consume(prefix),
      (messages) => eventsIn(messages).length >= count,
    ),
  );

afterEach(async () => {
  for (const exporter of exporters) await exporter.close();
  exporters.clear();
});

describe.skipIf(kafkaBrokers === undefined)('an export to Kafka', () => {
  it('publishes events of every type as CloudEvents, each to the topic of its category', async () => {
    const log = await newLog();
    const kinds = eventTypes(codecs);
    for (const { category, message } of kinds)
      await log.store.append(streamName(category, ['a', 'b', message.name]), 'no-stream', [
        newEvent(message.name, toBinary(message, create(message))),
      ]);
    exporting(log);
    await untilPublished(log, kinds.length);
    const messages = (await consume(log.prefix)).filter(({ topic }) => !topic.includes('positions'));
    const recorded = new Map((await allEvents(log.store)).map((event) => [uuidText(event.id), event]));
    expect(messages).toHaveLength(kinds.length);
    for (const { topic, key, headers, value } of messages) {
      const event = JSON.parse(value.toString()) as CloudEvent;
      const { stream, type, position, metadata } = recorded.get(event.id)!;
      expect(topic).toBe(`${log.prefix}.${categoryOf(stream)}.v1`);
      expect(key).toBe(entityText(stream));
      expect(headers).toEqual({
        'content-type': 'application/cloudevents+json; charset=UTF-8',
        ce_id: event.id,
        ce_type: event.type,
      });
      const { recordedAtMs } = JSON.parse(metadata) as { recordedAtMs: number };
      expect(event).toMatchObject({
        specversion: '1.0',
        source: `urn:flightlog:log:${log.store.logId}`,
        type: `platformidl.eventlog.${type}`,
        subject: entityText(stream),
        time: new Date(recordedAtMs).toISOString(),
        sequence: '00000000000000000000',
        position: String(position),
        dataschema: `urn:flightlog:schema:platformidl.eventlog.${type}:1`,
        data: {},
      });
    }
  });

  it('publishes reports of engines whole, with their contents from the payload store', async () => {
    const log = await newLog();
    const reported = fromBinary(NodePhaseReportedSchema, nodeReported('e1', 1, 'a deck').data);
    const content = reported.message?.content;
    const bytes = content?.case === 'inline' ? content.value : new Uint8Array();
    const stored = await filePayloadStore({ directory: log.directory }).put('runs/a/b/c', bytes);
    const value = create(PayloadRefSchema, stored);
    reported.message = create(ContentSchema, { content: { case: 'ref', value } });
    await log.store.append(executionStream('e1'), 'no-stream', [
      newEvent('NodePhaseReported', toBinary(NodePhaseReportedSchema, reported)),
    ]);
    exporting(log);
    const [event] = await untilPublished(log, 1);
    expect(event?.data?.['message']).toMatchObject({ deckUri: 'a deck', phase: 'RUNNING', id: { nodeId: 'n1' } });
  });

  it('publishes in the protobuf format when it is asked to', async () => {
    const log = await newLog();
    await report(log.store, 1, 1);
    exporting(log, { messages: messagesFrom(log.directory, 'protobuf') });
    const topic = `${log.prefix}.execution.v1`;
    const messages = await until(
      async () => (await consume(log.prefix)).filter((each) => each.topic === topic),
      ({ length }) => length === 10,
    );
    const recorded = await allEvents(log.store);
    for (const [index, { value, headers }] of messages.entries()) {
      expect(headers['content-type']).toBe('application/cloudevents+protobuf');
      const event = fromBinary(CloudEventSchema, value);
      expect(event.id).toBe(uuidText(recorded[index]!.id));
      expect(event.attributes['sequence']?.attr.value).toBe(String(index).padStart(20, '0'));
      expect(event.data).toMatchObject({
        case: 'protoData',
        value: { typeUrl: 'type.googleapis.com/platformidl.eventlog.NodePhaseReported' },
      });
      const data = event.data.case === 'protoData' ? event.data.value.value : new Uint8Array();
      expect(Buffer.from(data)).toEqual(Buffer.from(recorded[index]!.data));
    }
  });

  it('publishes an event that is too large for its topic with a reference to its data in the log', async () => {
    const log = await newLog();
    const configEntries = [{ name: 'max.message.bytes', value: '4000' }];
    const topic = `${log.prefix}.execution.v1`;
    await createTopic({ topic, numPartitions: 3, configEntries });
    const stream = executionStream('e1');
    await log.store.append(stream, 'no-stream', [nodeReported('e1', 0), nodeReported('e1', 1, 'x'.repeat(4_000))]);
    exporting(log);
    const [small, large] = await untilPublished(log, 2);
    expect(small).toHaveProperty('data');
    expect(small).not.toHaveProperty('dataref');
    expect(large).not.toHaveProperty('data');
    expect(large?.dataref).toBe(`urn:flightlog:log:${log.store.logId}:${stream}:1`);
  });

  it('publishes each event once, those of each stream in its order, also with several partitions', async () => {
    const log = await newLog();
    await report(log.store, 20, 5);
    exporting(log, { partitions: 3 });
    await report(log.store, 20, 5);
    await assertPublishedOnce(log);
  });

  it('resumes after the last exported event when it starts again, and has no lag when all are published', async () => {
    const log = await newLog();
    await report(log.store, 5, 2);
    const first = exporting(log);
    await untilPublished(log, 100);
    await first.close();
    await report(log.store, 5, 2);
    const second = exporting(log);
    await assertPublishedOnce(log);
    await until(
      () => Promise.resolve(second.lagMs()),
      (lagMs) => lagMs === 0,
    );
  });

  it('publishes each event once with two exporters, also after the active one has closed', async () => {
    const log = await newLog();
    await report(log.store, 10, 10);
    const one = exporting(log, { worker: 'one' });
    const two = exporting(log, { worker: 'two' });
    await report(log.store, 10, 40);
    await assertPublishedOnce(log);
    const standby = one.reported.includes('taken over 0') ? one : two;
    expect(standby.reported).toContain('taken over 0');
    await (standby === one ? two : one).close();
    await report(log.store, 10, 2);
    await assertPublishedOnce(log);
  });

  it('stops with an error when the topics have the events of another log', async () => {
    const log = await newLog();
    await report(log.store, 1, 1);
    await (await startPublishing(log)).close();
    const other = { ...(await newLog()), prefix: log.prefix };
    await expect(exporting(other).ended).rejects.toThrow(
      `the topics ${log.prefix}.* have the events of another log, ${log.store.logId}`,
    );
  });

  it('stops with an error when the number of partitions was changed', async () => {
    const log = await newLog();
    await report(log.store, 1, 1);
    await (await startPublishing(log)).close();
    await expect(exporting(log, { partitions: 2 }).ended).rejects.toThrow('were published in 1 partition(s)');
  });

  it('does not start when its positions were deleted; if it runs, reports that and publishes no more', async () => {
    const log = await newLog();
    await report(log.store, 1, 1);
    const exporter = await startPublishing(log);
    await withAdmin((admin) => admin.deleteTopics({ topics: [`${log.prefix}.export.positions.v1`] }));
    await report(log.store, 1, 1);
    const refusal = `the topics ${log.prefix}.* have events, and ${log.prefix}.export.positions.v1 does not say up to where`;
    await until(
      () => Promise.resolve(exporter.reported),
      (reported) => reported.some((each) => each.includes(refusal)),
    );
    await exporter.close();
    await expect(exporting(log).ended).rejects.toThrow(refusal);
    expect(eventsIn(await consume(log.prefix))).toHaveLength(10);
  });

  it('reports the missing positions in both of two exporters, which then publish nothing', async () => {
    const log = await newLog();
    await report(log.store, 1, 1);
    const standby = exporting(log, { worker: 'one', standbyMs: 2_000 });
    await untilPublished(log, 10);
    const active = exporting(log, { worker: 'two', standbyMs: 2_000 });
    await until(
      async () => [...(await readPositions(kafkaClient({ brokers }), log.prefix)).values()],
      (positions) => positions[0]?.worker === 'two',
    );
    await report(log.store, 1, 1); // by which the first exporter notices that it was taken over
    await until(
      () => Promise.resolve(standby.reported),
      (reported) => reported.includes('taken over 0'),
    );
    await untilPublished(log, 20);
    await withAdmin((admin) => admin.deleteTopics({ topics: [`${log.prefix}.export.positions.v1`] }));
    const untilReported = ({ reported }: { readonly reported: readonly string[] }) =>
      until(
        () => Promise.resolve(reported),
        (all) => all.some((each) => each.includes('.export.positions.v1 does not say up to where')),
      );
    await untilReported(standby);
    await report(log.store, 1, 1);
    await untilReported(active);
    expect(eventsIn(await consume(log.prefix))).toHaveLength(20);
  }, 120_000);

  it('creates its topics without a failure, also when two exporters with three partitions begin at once', async () => {
    const log = await newLog();
    await report(log.store, 4, 1);
    const both = ['one', 'two'].map((worker) => exporting(log, { worker, partitions: 3 }));
    await assertPublishedOnce(log);
    expect(both.flatMap(({ reported }) => reported).filter((each) => !each.startsWith('taken over'))).toEqual([]);
  });

  it('publishes an event of an unknown type without its data, in the order of its stream', async () => {
    const log = await newLog();
    const stream = executionStream('e0');
    await log.store.append(stream, 'any', [newEvent('ExecutionForgotten', new Uint8Array())]);
    await report(log.store, 1, 1);
    exporting(log);
    await assertPublishedOnce(log);
    const [unknown] = (await untilPublished(log, 2)).filter(({ type }) => type.endsWith('ExecutionForgotten'));
    expect(unknown).not.toHaveProperty('data');
    expect(unknown?.dataref).toBe(`urn:flightlog:log:${log.store.logId}:${stream}:0`);
  });

  it('says which topic cannot be created, and why', async () => {
    const log = await newLog();
    // There are fewer than 7 brokers.
    const exporter = exporting(log, { topics: { prefix: log.prefix, partitions: 3, replicationFactor: 7 } });
    await until(
      () => Promise.resolve(exporter.reported),
      (reported) => reported.some((each) => /topics cannot be made: .*execution\.v1 \(Replication.factor/u.test(each)),
    );
    const topics = { prefix: `${log.prefix}/a topic`, partitions: 3, replicationFactor: -1 };
    await expect(exporting(log, { topics }).ended).rejects.toThrow(/topics cannot be made: .*a topic/u);
  });

  it('says which topic exists with other settings', async () => {
    const log = await newLog();
    const topic = `${log.prefix}.task.v1`;
    const configEntries = [{ name: 'cleanup.policy', value: 'compact' }];
    await createTopic({ topic, numPartitions: 2, configEntries });
    await expect(exporting(log).ended).rejects.toThrow(
      `topic ${topic} exists with other settings: 2 partitions instead of 3, cleanup.policy compact instead of delete`,
    );
  });
});

const withAdmin = async (work: (admin: Admin) => Promise<unknown>): Promise<void> => {
  const admin = kafkaClient({ brokers }).admin();
  await admin.connect();
  try {
    await work(admin);
  } finally {
    await admin.disconnect();
  }
};

/** Starts an exporter, and waits until it has published. */
const startPublishing = async (log: ExportedLog): Promise<ReturnType<typeof exporting>> => {
  const exporter = exporting(log);
  await untilPublished(log, 1);
  return exporter;
};
