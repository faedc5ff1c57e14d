import {
  create,
  createFileRegistry,
  type DescMessage,
  fromBinary,
  type JsonObject,
  toBinary,
  toJson,
} from '@bufbuild/protobuf';
import {
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FileDescriptorProtoSchema,
} from '@bufbuild/protobuf/wkt';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ContentSchema } from '../../../proto/gen/platformidl/eventlog/content_pb.js';
import {
  ExecutionCreatedSchema,
  NodePhaseReportedSchema,
} from '../../../proto/gen/platformidl/eventlog/execution_pb.js';
import { NodeExecutionEventSchema } from '../../../proto/gen/platformidl/event/event_pb.js';
import { ENGINE_REPORTED } from '../../../services/execution/events.js';
import { openJson } from '../../../services/kernel/encoding/json-bytes.js';
import { wireJson } from '../../../services/event-json/wire-json.js';
import { eventTypes } from '../../../services/event-json/event-types.js';
import { codecs } from '../../../services/main/models.js';
import { contentSchemaOf, eventRegistry } from '../../../services/event-json/readable.js';
import { eventOf } from '../../support/requests/event-values.js';

/** The JSON that the fast conversion writes; `undefined` when it leaves the event to the library. */
const written = (schema: DescMessage, event: Uint8Array): unknown => {
  const json = openJson();
  if (!wireJson(schema, eventRegistry, contentSchemaOf)(event, json)) return undefined;
  return JSON.parse(json.bytes.toString('utf8', 0, json.length));
};

/** True for an empty text, list or message, which the JSON of an event leaves out. */
const isEmpty = (value: unknown): boolean =>
  value === '' || (typeof value === 'object' && value !== null && Object.keys(value).length === 0);

/** Adds to a JSON of set fields the zeros of all absent numbers, booleans and enums, from a JSON with all fields. */
const withZeros = (present: unknown, full: unknown): unknown => {
  if (Array.isArray(present) && Array.isArray(full)) return present.map((each, at) => withZeros(each, full[at]));
  if (typeof present !== 'object' || present === null || '@type' in present) return present;
  const known = present as Readonly<Record<string, unknown>>;
  return Object.fromEntries(
    Object.entries(full as object)
      .filter(([name, value]) => name in known || !isEmpty(value))
      .map(([name, value]) => [name, name in known ? withZeros(known[name], value) : value]),
  );
};

const options = { registry: eventRegistry };

const libraryJson = (schema: DescMessage, bytes: Uint8Array): JsonObject => {
  const message = fromBinary(schema, bytes);
  const present = toJson(schema, message, options);
  const full = toJson(schema, message, { ...options, alwaysEmitImplicit: true });
  return withZeros(present, full) as JsonObject;
};

/** The JSON of the library, with contents decoded; `undefined` when the library fails. */
const byLibrary = (schema: DescMessage, event: Uint8Array): unknown => {
  try {
    const json = libraryJson(schema, event);
    for (const field of schema.fields) {
      const content = json[field.jsonName] as { readonly inline?: string } | undefined;
      const inner = field.message?.typeName === ContentSchema.typeName ? contentSchemaOf(field, event) : undefined;
      if (inner && content?.inline !== undefined)
        json[field.jsonName] = libraryJson(inner, Buffer.from(content.inline, 'base64'));
    }
    return JSON.parse(JSON.stringify(json));
  } catch {
    return undefined;
  }
};

const reported = toBinary(
  NodePhaseReportedSchema,
  create(NodePhaseReportedSchema, {
    node: 'n0',
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

describe('JSON that is written directly from the encoding of an event', () => {
  // An older type is written as the type that replaced it.
  it.each(eventTypes(codecs).flatMap(({ message }) => (message.name === ENGINE_REPORTED ? [] : [message])))(
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

  it('is the same as that of the library, or is not written, whatever bytes are changed', () => {
    const change = fc.tuple(fc.nat(reported.length - 1), fc.nat(255));
    let count = 0;
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), (changes) => {
        const changed = Uint8Array.from(reported);
        for (const [at, value] of changes) changed[at] = value;
        const json = written(NodePhaseReportedSchema, changed);
        if (json === undefined) return;
        count += 1;
        expect(json).toEqual(byLibrary(NodePhaseReportedSchema, changed));
      }),
      { numRuns: 1_000 },
    );
    expect(count).toBeGreaterThan(30);
  });

  it('has the message of an engine decoded, an empty member of a oneof, and zeros', () => {
    expect(written(NodePhaseReportedSchema, reported)).toEqual({
      node: 'n0',
      message: {
        id: { nodeId: 'größe', executionId: { project: 'p', domain: 'd', name: 'n' } },
        occurredAt: '2026-01-01T00:00:00.120Z',
        outputUri: '',
        phase: 'UNDEFINED',
        eventVersion: 0,
        isParent: false,
        isDynamic: false,
        isArray: false,
        isInDynamicChain: false,
        isEager: false,
      },
      messageHash: '0',
      phase: 'UNDEFINED',
      samePhase: false,
    });
  });

  it('is left to the library when a field comes twice, or when a content is stored beside the event', () => {
    const encoded = (event: object): Uint8Array =>
      toBinary(ExecutionCreatedSchema, create(ExecutionCreatedSchema, event));
    const [one, two] = [encoded({ id: { project: 'p' } }), encoded({ id: { domain: 'd' } })];
    expect(written(ExecutionCreatedSchema, one)).toEqual({ id: { project: 'p' } });
    expect(written(ExecutionCreatedSchema, Buffer.concat([one, two]))).toBeUndefined();
    const ref = encoded({ inputs: { content: { case: 'ref', value: { scope: 's' } } } });
    expect(written(ExecutionCreatedSchema, ref)).toBeUndefined();
  });

  it('has the zeros of a message with 40 fields, and is not written when one beyond the first 31 is set', () => {
    const field = Array.from({ length: 40 }, (_, at) => ({
      name: `f${at}`,
      jsonName: `f${at}`,
      number: at + 1,
      type: FieldDescriptorProto_Type.INT32,
      label: FieldDescriptorProto_Label.OPTIONAL,
    }));
    const file = create(FileDescriptorProtoSchema, {
      name: 'many.proto',
      syntax: 'proto3',
      messageType: [{ name: 'Many', field }],
    });
    const many = createFileRegistry(file, () => undefined).getMessage('Many')!;
    const encoded = (at: number): Uint8Array => toBinary(many, create(many, { [`f${at}`]: 7 }));
    const zeros = Object.fromEntries(field.map(({ name }) => [name, 0]));
    expect(written(many, encoded(0))).toEqual({ ...zeros, f0: 7 });
    expect(written(many, encoded(35))).toBeUndefined();
  });

  it('leaves out unknown fields', () => {
    const unknown = Uint8Array.of(0xfa, 0x3f, 2, 1, 2); // field 1023 with two bytes
    expect(written(NodePhaseReportedSchema, Buffer.concat([reported, unknown]))).toEqual(
      written(NodePhaseReportedSchema, reported),
    );
  });
});
