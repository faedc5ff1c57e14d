import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';
import { CloudEventSchema } from '../../../proto/gen/io/cloudevents/v1/cloudevents_pb.js';
import type { NewEvent, RecordedEvent } from '../../../services/kernel/event.js';
import { streamName } from '../../../services/kernel/stream.js';
import { eventTypes } from '../../../services/event-json/event-types.js';
import { codecs } from '../../../services/main/models.js';
import { wholeEventEncoder } from '../../../services/event-json/readable.js';
import {
  type ExportFormat,
  messageMaker,
  recordOf,
  sizeOf,
} from '../../../services/reactors/export-to-kafka/message.js';
import { entityText } from '../../../services/reactors/export-to-kafka/cloud-events/stream-attributes.js';
import { executionStream, newEvent, nodeReported } from '../../support/streams/filled-log.js';

const LOG_ID = '4840a941-dec6-4d4b-b036-6929f53bff43';

const TRACE_PARENT = `00-${'4b'.repeat(16)}-${'00f0'.repeat(4)}-01`;

/** The events of these tests have no payloads beside the log. */
const dataEncoder = wholeEventEncoder({
  put: () => Promise.reject(new Error('nothing is stored')),
  get: () => Promise.reject(new Error('nothing is stored')),
  close: () => Promise.resolve(),
});

/** The message of an event, and its headers. */
const made = async (event: RecordedEvent, format: ExportFormat = 'json', maxBytes = 900_000) => {
  const message = await messageMaker({ logId: LOG_ID, format, dataEncoder, maxBytes: () => maxBytes })(event);
  return { ...message, headers: recordOf(message).headers ?? {} };
};

const recorded = (event: NewEvent, more: Partial<RecordedEvent> = {}): RecordedEvent => ({
  ...event,
  stream: executionStream('a1b2'),
  revision: 7n,
  position: 4_711n,
  ...more,
});

const withMetadata = (event: NewEvent, more: object): NewEvent => ({
  ...event,
  metadata: JSON.stringify({ ...(JSON.parse(event.metadata) as object), ...more }),
});

const json = async (event: RecordedEvent): Promise<Readonly<Record<string, unknown>>> =>
  JSON.parse((await made(event)).value.toString()) as Readonly<Record<string, unknown>>;

describe('an event as a CloudEvent', () => {
  it('is valid JSON, whatever type another program has given it', async () => {
    const event = { ...newEvent('a "type"', new Uint8Array()), metadata: '{}' };
    expect(await json(recorded(event))).toMatchObject({ type: 'platformidl.eventlog.a "type"' });
  });

  it('has no empty attribute where another program has given it no metadata', async () => {
    const attributes = await json(recorded({ ...newEvent('other', new Uint8Array()), metadata: '{}' }));
    for (const value of Object.values(attributes)) expect(value).toEqual(expect.stringMatching(/./u));
    for (const absent of ['commandid', 'actor', 'correlationid']) expect(attributes).not.toHaveProperty(absent);
  });

  it('has no empty attribute where a program has given it empty metadata', async () => {
    const empty = { actor: '', commandId: '', $correlationId: '', $causationId: '', traceparent: '' };
    const { data: _, ...attributes } = await json(recorded(withMetadata(nodeReported('a1b2', 0), empty)));
    for (const value of Object.values(attributes)) expect(value).toEqual(expect.stringMatching(/./u));
  });

  it('counts as recorded when its message is made, where another program has given it no time', async () => {
    const before = Date.now();
    const { recordedAtMs } = await made(recorded({ ...newEvent('other', new Uint8Array()), metadata: '{}' }));
    expect(recordedAtMs).toBeGreaterThanOrEqual(before);
  });

  it('has actor, type, time and stream in its attributes', async () => {
    const id = Uint8Array.from({ length: 16 }, (_, at) => at * 17);
    const event = withMetadata(nodeReported('a1b2', 0), {
      recordedAtMs: 1_767_225_600_120,
      actor: 'an engine',
      commandId: 'c1',
      $correlationId: 'r1',
      $causationId: 'r0',
      traceparent: TRACE_PARENT,
    });
    expect(await json(recorded({ ...event, id }))).toEqual({
      specversion: '1.0',
      id: '00112233-4455-6677-8899-aabbccddeeff',
      source: `urn:flightlog:log:${LOG_ID}`,
      type: 'platformidl.eventlog.NodePhaseReported',
      subject: 'flytesnacks/development/a1b2',
      time: '2026-01-01T00:00:00.120Z',
      sequence: '00000000000000000007',
      stream: 'execution-flytesnacks:development:a1b2',
      position: '4711',
      partitionkey: 'flytesnacks/development/a1b2',
      commandid: 'c1',
      actor: 'an engine',
      correlationid: 'r1',
      causationid: 'r0',
      traceparent: TRACE_PARENT,
      project: 'flytesnacks',
      domain: 'development',
      execution: 'a1b2',
      node: 'n0',
      phase: 'RUNNING',
      datacontenttype: 'application/json',
      dataschema: 'urn:flightlog:schema:platformidl.eventlog.NodePhaseReported:1',
      data: expect.objectContaining({ project: 'flytesnacks', node: 'n0', phase: 'RUNNING' }) as unknown,
    });
  });

  it('leaves out actor and cause where none is recorded', async () => {
    const event = await json(recorded(withMetadata(nodeReported('a1b2', 0), { actor: '' })));
    for (const absent of ['actor', 'correlationid', 'causationid', 'traceparent', 'dataref'])
      expect(event).not.toHaveProperty(absent);
  });

  it('has attributes with names of at most 20 lower-case letters and digits, as CloudEvents asks, and no empty value', async () => {
    const { data: _, ...attributes } = await json(recorded(nodeReported('a1b2', 0)));
    for (const name of Object.keys(attributes)) expect(name).toMatch(/^[a-z0-9]{1,20}$/u);
    for (const value of Object.values(attributes)) expect(value).toEqual(expect.stringMatching(/./u));
  });

  it('is byte for byte the same each time that it is made', async () => {
    const event = recorded(nodeReported('a1b2', 0, '"größe"\n'));
    expect(await made(event)).toEqual(await made({ ...event }));
  });

  it('has an id of its own', async () => {
    const events = Array.from({ length: 50 }, (_, at) => recorded(nodeReported('a1b2', at)));
    const ids = await Promise.all(events.map(async (event) => (await json(event))['id']));
    expect(new Set(ids).size).toBe(50);
  });

  it('has a sequence of 20 characters: sorted as texts, sequences are in the order of the stream', async () => {
    const revisions = [0n, 9n, 10n, 99n, 100n, 2n ** 63n - 1n];
    const texts = await Promise.all(
      revisions.map(async (revision) =>
        String((await json(recorded(nodeReported('a1b2', 0), { revision })))['sequence']),
      ),
    );
    expect(texts).toEqual([...texts].sort());
    expect(texts.every(({ length }) => length === 20)).toBe(true);
  });

  it('names the schema by the type and version of the event', async () => {
    const event = withMetadata(nodeReported('a1b2', 0), { schema: 2 });
    expect((await json(recorded(event)))['dataschema']).toBe(
      'urn:flightlog:schema:platformidl.eventlog.NodePhaseReported:2',
    );
  });

  it('has the category of its stream, and the entity of the stream as its key', async () => {
    const task = streamName('task', ['flytesnacks', 'development', 'a:b/c', 'v1']);
    const { category, key, headers } = await made(recorded(nodeReported('a1b2', 0), { stream: task }));
    expect({ category, key: key.toString() }).toEqual({ category: 'task', key: entityText(task) });
    expect(key.toString()).toBe('flytesnacks/development/a%3Ab%2Fc/v1');
    expect(headers['content-type']).toBe('application/cloudevents+json; charset=UTF-8');
  });

  it('has headers that tell its id and type without a look inside', async () => {
    const event = recorded(nodeReported('a1b2', 0));
    const { headers } = await made(event);
    expect(headers).toMatchObject({
      ce_id: (await json(event))['id'],
      ce_type: 'platformidl.eventlog.NodePhaseReported',
    });
  });

  it.each(['json', 'protobuf'] as const)(
    'names in %s where its data is when it is too large for its topic',
    async (format) => {
      const event = recorded(nodeReported('a1b2', 0, 'x'.repeat(2_000)));
      const whole = await made(event, format);
      const size = sizeOf(whole);
      expect(await made(event, format, size)).toEqual(whole);
      const { value, key, headers } = await made(event, format, size - 1);
      expect(value.length).toBeLessThan(1_000);
      expect({ key, headers }).toEqual({ key: whole.key, headers: whole.headers });
      const dataref = `urn:flightlog:log:${LOG_ID}:execution-flytesnacks:development:a1b2:7`;
      if (format === 'json') {
        const said = JSON.parse(value.toString()) as Readonly<Record<string, unknown>>;
        expect(said).toMatchObject({ specversion: '1.0', dataref });
        for (const absent of ['data', 'dataschema', 'datacontenttype']) expect(said).not.toHaveProperty(absent);
      } else {
        const { attributes, data } = fromBinary(CloudEventSchema, value);
        expect(attributes['dataref']?.attr).toEqual({ case: 'ceUriRef', value: dataref });
        expect(data.case).toBeUndefined();
      }
    },
  );

  it('has the same attributes in JSON and in protobuf, except for the type and the schema of its data', async () => {
    const event = recorded(nodeReported('a1b2', 0));
    const { data: _, specversion, id, source, type, time, ...others } = await json(event);
    const { value, headers } = await made(event, 'protobuf');
    const said = fromBinary(CloudEventSchema, value);
    expect(headers['content-type']).toBe('application/cloudevents+protobuf');
    expect(said).toMatchObject({ specVersion: specversion, id, source, type });
    const at = said.attributes['time']?.attr;
    expect(at?.case === 'ceTimestamp' && timestampDate(at.value).toISOString()).toBe(time);
    const texts = Object.entries(said.attributes).map(([name, { attr }]) => [name, attr.value] as const);
    expect(Object.fromEntries(texts.filter(([name]) => name !== 'time'))).toEqual({
      ...others,
      datacontenttype: 'application/protobuf',
      dataschema: `type.googleapis.com/${String(type)}`,
    });
    const data = said.data.case === 'protoData' ? said.data.value.value : new Uint8Array();
    expect(Buffer.from(data)).toEqual(Buffer.from(event.data));
  });

  it.each(eventTypes(codecs))('is made from each type of event: $message.name', async ({ category, message }) => {
    const stream = streamName(category, ['flytesnacks', 'development', 'a1b2']);
    const event = recorded(newEvent(message.name, toBinary(message, create(message))), { stream });
    expect(await json(event)).toMatchObject({ type: message.typeName, stream, data: {} });
    expect(fromBinary(CloudEventSchema, (await made(event, 'protobuf')).value).type).toBe(message.typeName);
  });

  it.each(['json', 'protobuf'] as const)(
    'names in %s where its data is when this release does not know it, or cannot read it',
    async (format) => {
      const broken = recorded(newEvent('ExecutionCreated', Uint8Array.of(0xff, 0xff)));
      const report = recorded(nodeReported('a1b2', 0));
      const foreign = ['null', 'no JSON', '{"schema":1}'].map((metadata) => ({ ...report, metadata }));
      for (const event of [recorded(newEvent('ExecutionForgotten', new Uint8Array())), broken, ...foreign]) {
        const { value, key } = await made(event, format);
        const dataref = `urn:flightlog:log:${LOG_ID}:execution-flytesnacks:development:a1b2:7`;
        expect([value.toString(), key.toString()]).toEqual([
          expect.stringContaining(dataref),
          'flytesnacks/development/a1b2',
        ]);
      }
    },
  );
});
