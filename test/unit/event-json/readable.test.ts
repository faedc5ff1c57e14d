import { create, type DescMessage, fromBinary, toBinary, toJsonString } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LiteralMapSchema } from '../../../proto/gen/platformidl/core/literals_pb.js';
import {
  ExecutionCreatedSchema,
  ExecutionTaggedSchema,
  NodePhaseReportedSchema,
} from '../../../proto/gen/platformidl/eventlog/execution_pb.js';
import { NodeExecutionEventSchema } from '../../../proto/gen/platformidl/event/event_pb.js';
import { ENGINE_REPORTED } from '../../../services/execution/events.js';
import { TailResponseSchema } from '../../../proto/gen/platformidl/eventlog/tail_pb.js';
import { copyOf, openJson, writeText } from '../../../services/kernel/encoding/json-bytes.js';
import type { RecordedEvent } from '../../../services/kernel/event.js';
import { CorruptEvent, CorruptPayload, StoreUnavailable, UnknownEvent } from '../../../services/kernel/fault.js';
import type { Content, PayloadStore } from '../../../services/kernel/ports/payload-store.js';
import { eventLine } from '../../../services/event-json/event-line.js';
import type { StreamName } from '../../../services/kernel/stream.js';
import { type EventType, eventTypes } from '../../../services/event-json/event-types.js';
import { codecs } from '../../../services/main/models.js';
import { wholeEventEncoder, readable } from '../../../services/event-json/readable.js';
import { tailEventAnswer } from '../../../services/streams/tail/answers.js';
import { eventOf } from '../../support/requests/event-values.js';
import { executionStream, newEvent } from '../../support/streams/filled-log.js';

/** The members with which the JSON of each event of the execution `a1b2` begins. */
const NAMES = { project: 'flytesnacks', domain: 'development', execution: 'a1b2' };

const recorded = (type: string, data: Uint8Array): RecordedEvent => ({
  ...newEvent(type, data),
  stream: executionStream('a1b2'),
  revision: 0n,
  position: 1n,
});

/** A store with these objects, by their names. */
const holding = (objects: ReadonlyMap<string, Uint8Array>): PayloadStore => ({
  put: () => Promise.reject(new Error('nothing is stored')),
  get: ({ sha256 }) => Promise.resolve(objects.get(sha256)),
  close: () => Promise.resolve(),
});

/** A store whose reads fail with the error. */
const failing = (error: Error): PayloadStore => ({ ...holding(new Map()), get: () => Promise.reject(error) });

/** A store without objects. */
const NOTHING = holding(new Map());

/** The JSON for programs, appended to existing content. */
const whole = async (event: RecordedEvent, payloads = NOTHING): Promise<unknown> => {
  const json = openJson();
  writeText(json, '[1,');
  await wholeEventEncoder(payloads).json(event, json);
  writeText(json, ']');
  return (JSON.parse(copyOf(json).toString()) as unknown[])[1];
};

/** The JSON for people. */
const shown = async (event: RecordedEvent, payloads = NOTHING): Promise<unknown> =>
  JSON.parse((await readable(payloads)(event)).toString());

/**
 * The same event with references to its contents, and these contents, each by the name of its field, which serves as
 * hash.
 */
const besides = (schema: DescMessage, data: Uint8Array) => {
  const objects = new Map<string, Uint8Array>();
  const message = fromBinary(schema, data) as unknown as Record<string, Content | undefined>;
  for (const { localName, message: type } of schema.fields) {
    const part = type?.name === 'Content' ? message[localName] : undefined;
    if (part?.content.case !== 'inline') continue;
    objects.set(localName, part.content.value);
    const ref = {
      $typeName: 'platformidl.eventlog.PayloadRef',
      scope: 's',
      sha256: localName,
      sizeBytes: 1n,
      keyId: '',
    };
    part.content = { case: 'ref', value: ref };
  }
  return { objects, data: toBinary(schema, message as never) };
};

const hasContents = ({ message }: EventType): boolean =>
  message.name !== ENGINE_REPORTED && message.fields.some((field) => field.message?.name === 'Content');

const inputs = toBinary(
  LiteralMapSchema,
  create(LiteralMapSchema, { literals: { name: { hash: 'h', value: { case: 'map', value: {} } } } }),
);
const created = recorded(
  'ExecutionCreated',
  toBinary(
    ExecutionCreatedSchema,
    create(ExecutionCreatedSchema, { inputs: { content: { case: 'inline', value: inputs } } }),
  ),
);
/** The same event with its inputs stored beside it. */
const createdBeside = { ...created, ...besides(ExecutionCreatedSchema, created.data) };
/** The JSON of inputs that are stored beside the event and are not read. */
const REF = { ref: { scope: 's', sha256: 'inputs', sizeBytes: '1' } };
/** The JSON of the same inputs, decoded. */
const OPENED = { literals: { name: { hash: 'h', map: {} } } };

describe('the JSON of an event with contents that lie beside it', () => {
  it.each(eventTypes(codecs).filter(hasContents))(
    'is that of a $message.name with the contents in it',
    async ({ message }) => {
      let count = 0;
      await fc.assert(
        fc.asyncProperty(fc.gen(), async (draw) => {
          const data = eventOf(draw, message);
          const beside = besides(message, data);
          count += beside.objects.size;
          const event = recorded(message.name, beside.data);
          expect(await whole(event, holding(beside.objects))).toEqual(await whole(recorded(message.name, data)));
        }),
        { numRuns: 25, endOnFailure: true }, // shrinking such events takes long
      );
      expect(count).toBeGreaterThan(10);
    },
  );

  it('has the reference where the contents are gone or damaged', async () => {
    for (const payloads of [NOTHING, failing(new CorruptPayload('damaged'))])
      for (const ask of [whole, shown])
        expect(await ask(createdBeside, payloads)).toMatchObject({ ...NAMES, inputs: REF });
  });

  it('is an error for programs while the store cannot be reached, and has the reference for people', async () => {
    const away = failing(new StoreUnavailable('away'));
    await expect(whole(createdBeside, away)).rejects.toBeInstanceOf(StoreUnavailable);
    expect(await shown(createdBeside, away)).toMatchObject({ ...NAMES, inputs: REF });
  });
});

describe('the line of an event that another program has written', () => {
  const theirs = { ...recorded('Theirs', Buffer.from('{}')), stream: 'theirs-1' as StreamName };
  const data = Buffer.from('{}').toString('base64');

  it.each([
    ['{}', {}],
    ['no JSON', {}],
    ['"text"', {}],
    ['{"recordedAtMs":"soon"}', {}],
    ['{"recordedAtMs":1e99,"actor":"them"}', { actor: 'them' }],
    ['{"recordedAtMs":253402300800000}', {}], // the year 10000
    ['{"recordedAtMs":0.0000001}', {}],
    ['{"actor":5,"$correlationId":{},"schema":"x"}', {}],
    ['null', {}],
    ['{"recordedAtMs":0}', { recordedAt: '1970-01-01T00:00:00.000Z' }],
  ])('has of its metadata %s what can be read', async (metadata, shownMetadata) => {
    const event = { ...theirs, metadata };
    const { position, stream, type, id, revision, ...others } = JSON.parse(
      await eventLine(event, readable(NOTHING)),
    ) as Record<string, unknown>;
    expect({ position, stream, type, revision }).toEqual({
      position: 1,
      stream: 'theirs-1',
      type: 'Theirs',
      revision: 0,
    });
    expect(id).toMatch(/^[-0-9a-f]{36}$/u);
    expect(others).toEqual({
      ...shownMetadata,
      correlationId: '',
      causationId: '',
      traceparent: '',
      data,
    });
    const answer = tailEventAnswer(event, { case: 'json', value: '{}' });
    expect(answer.event?.recordedAt !== undefined).toBe('recordedAt' in shownMetadata);
    expect(toJsonString(TailResponseSchema, answer).length).toBeGreaterThan(0);
  });
});

describe('the JSON of an event in an unusual encoding', () => {
  const tagged = (tag: string, principal: string): Uint8Array =>
    toBinary(ExecutionTaggedSchema, create(ExecutionTaggedSchema, { tags: [tag], principal }));

  it('is that of the message that its parts merge to', async () => {
    const data = Buffer.concat([tagged('a', 'ada'), tagged('b', 'bob')]);
    expect(await whole(recorded('ExecutionTagged', data))).toEqual({ ...NAMES, tags: ['a', 'b'], principal: 'bob' });
  });

  it('has the message of an engine whose parts are merged', async () => {
    const part = (id: object): Uint8Array =>
      toBinary(NodeExecutionEventSchema, create(NodeExecutionEventSchema, { id }));
    const value = Buffer.concat([part({ nodeId: 'n0' }), part({ executionId: { name: 'a1b2' } })]);
    const report = create(NodePhaseReportedSchema, { node: 'n0', message: { content: { case: 'inline', value } } });
    const data = toBinary(NodePhaseReportedSchema, report);
    expect(await whole(recorded('NodePhaseReported', data))).toMatchObject({
      node: 'n0',
      message: { id: { nodeId: 'n0', executionId: { name: 'a1b2' } } },
    });
  });

  it('has a content as bytes where it cannot be decoded', async () => {
    const broken = create(ExecutionCreatedSchema, {
      inputs: { content: { case: 'inline', value: Uint8Array.of(0xff, 0xff) } },
      userInputs: { content: { case: 'inline', value: inputs } },
    });
    const event = recorded('ExecutionCreated', toBinary(ExecutionCreatedSchema, broken));
    expect(await whole(event)).toMatchObject({ ...NAMES, inputs: { inline: '//8=' }, userInputs: OPENED });
  });

  it('is an error for programs, and the bytes for people, where it cannot be decoded or its type is unknown', async () => {
    const noMessage = Uint8Array.of(0xff, 0xff); // a tag that ends early
    const corrupt = [recorded('ExecutionCreated', noMessage), recorded(ENGINE_REPORTED, noMessage)];
    const unknown = recorded('ExecutionForgotten', noMessage);
    for (const event of corrupt) await expect(whole(event)).rejects.toBeInstanceOf(CorruptEvent);
    await expect(whole(unknown)).rejects.toBeInstanceOf(UnknownEvent);
    for (const event of [...corrupt, unknown]) expect(await shown(event)).toBe('//8=');
  });
});
