import { create, type DescMessage, fromBinary, type JsonObject, toBinary, toJson } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ContentSchema } from '../../../proto/gen/platformidl/eventlog/content_pb.js';
import {
  EngineReported_Entity,
  EngineReportedSchema,
  ExecutionCreatedSchema,
} from '../../../proto/gen/platformidl/eventlog/execution_pb.js';
import { NodeExecutionEventSchema } from '../../../proto/gen/platformidl/event/event_pb.js';
import { openJson } from '../../../services/kernel/json-bytes.js';
import { wireJson } from '../../../services/kernel/wire-json.js';
import { eventTypes } from '../../../services/main/event-types.js';
import { contentIn, eventRegistry } from '../../../services/main/readable.js';
import { messageOf } from '../../support/message-values.js';

const written = (schema: DescMessage, event: Uint8Array): unknown => {
  const json = openJson();
  if (!wireJson(schema, eventRegistry, contentIn)(event, json)) return undefined;
  return JSON.parse(json.bytes.toString('utf8', 0, json.length));
};

/** What the library gives, with the contents in its place; where it does not, nothing. */
const byLibrary = (schema: DescMessage, event: Uint8Array): unknown => {
  const options = { registry: eventRegistry };
  try {
    const json = toJson(schema, fromBinary(schema, event), options) as JsonObject;
    for (const field of schema.fields) {
      const content = json[field.jsonName] as { readonly inline?: string } | undefined;
      const inner = field.message?.typeName === ContentSchema.typeName ? contentIn(field, event) : undefined;
      if (inner && content?.inline !== undefined)
        json[field.jsonName] = toJson(inner, fromBinary(inner, Buffer.from(content.inline, 'base64')), options);
    }
    return JSON.parse(JSON.stringify(json));
  } catch {
    return undefined;
  }
};

/** An event with something in it of what its contents are. */
const eventOf = (draw: fc.GeneratorValue, schema: DescMessage): Uint8Array => {
  const message = messageOf(draw, schema) as unknown as Record<string, unknown>;
  if ('entity' in message) message['entity'] = draw(() => fc.constantFrom(1, 2, 3));
  const head = toBinary(schema, message as never);
  for (const field of schema.fields) {
    if (field.message?.typeName !== ContentSchema.typeName || message[field.localName] === undefined) continue;
    const inner = contentIn(field, head);
    const value = inner ? toBinary(inner, messageOf(draw, inner, 2)) : new Uint8Array();
    message[field.localName] = create(ContentSchema, { content: { case: 'inline', value } });
  }
  return toBinary(schema, message as never);
};

const reported = toBinary(
  EngineReportedSchema,
  create(EngineReportedSchema, {
    entity: EngineReported_Entity.NODE,
    nodeId: 'n0',
    message: {
      content: {
        case: 'inline',
        value: toBinary(
          NodeExecutionEventSchema,
          create(NodeExecutionEventSchema, {
            id: { nodeId: 'größe', executionId: { project: 'p', domain: 'd', name: 'n' } },
            occurredAt: { seconds: 1_767_225_600n, nanos: 120_000_000 },
            outputResult: { case: 'outputUri', value: '' },
          }),
        ),
      },
    },
  }),
);

describe('JSON right from the encoding of an event', () => {
  it.each(eventTypes().map(({ message }) => message))(
    'is what the library makes of a $name',
    (schema) => {
      fc.assert(
        fc.property(fc.gen(), (draw) => {
          const event = eventOf(draw, schema);
          expect(written(schema, event)).toEqual(byLibrary(schema, event));
        }),
        { numRuns: 40 },
      );
    },
    30_000,
  );

  it('says the same as the library, or nothing, whatever bytes are changed', () => {
    const change = fc.tuple(fc.nat(reported.length - 1), fc.nat(255));
    let count = 0;
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), (changes) => {
        const changed = Uint8Array.from(reported);
        for (const [at, value] of changes) changed[at] = value;
        const json = written(EngineReportedSchema, changed);
        if (json === undefined) return;
        count += 1;
        expect(json).toEqual(byLibrary(EngineReportedSchema, changed));
      }),
      { numRuns: 1_000 },
    );
    expect(count).toBeGreaterThan(30);
  });

  it('opens the message of an engine, and keeps a member of a oneof that is empty', () => {
    expect(written(EngineReportedSchema, reported)).toEqual({
      entity: 'NODE',
      nodeId: 'n0',
      message: {
        id: { nodeId: 'größe', executionId: { project: 'p', domain: 'd', name: 'n' } },
        occurredAt: '2026-01-01T00:00:00.120Z',
        outputUri: '',
      },
    });
  });

  it('leaves to the library what is merged or replaced, and what lies beside the event', () => {
    const id = (value: object): Uint8Array => toBinary(ExecutionCreatedSchema, create(ExecutionCreatedSchema, value));
    const [one, two] = [id({ id: { project: 'p' } }), id({ id: { domain: 'd' } })];
    expect(written(ExecutionCreatedSchema, one)).toEqual({ id: { project: 'p' } });
    expect(written(ExecutionCreatedSchema, Buffer.concat([one, two]))).toBeUndefined();
    const ref = id({ inputs: { content: { case: 'ref', value: { scope: 's' } } } });
    expect(written(ExecutionCreatedSchema, ref)).toBeUndefined();
  });

  it('skips what a later release has added', () => {
    const unknown = Uint8Array.of(0xfa, 0x3f, 2, 1, 2);
    expect(written(EngineReportedSchema, Buffer.concat([reported, unknown]))).toEqual(
      written(EngineReportedSchema, reported),
    );
  });
});
