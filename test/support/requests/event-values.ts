import { create, type DescMessage, toBinary } from '@bufbuild/protobuf';
import type fc from 'fast-check';
import { ContentSchema } from '../../../proto/gen/platformidl/eventlog/content_pb.js';
import { contentSchemaOf } from '../../../services/event-json/readable.js';
import { messageOf } from './message-values.js';

/** Generates an encoded event, in whose `Content` fields are valid messages of the type that belongs there. */
export const eventOf = (draw: fc.GeneratorValue, schema: DescMessage): Uint8Array => {
  const message = messageOf(draw, schema) as unknown as Record<string, unknown>;
  const head = toBinary(schema, message as never);
  for (const field of schema.fields) {
    if (field.message?.typeName !== ContentSchema.typeName || message[field.localName] === undefined) continue;
    const inner = contentSchemaOf(field, head);
    // Generated as if two levels deep, because fewer fields are set there.
    const value = inner ? toBinary(inner, messageOf(draw, inner, 2)) : new Uint8Array();
    message[field.localName] = create(ContentSchema, { content: { case: 'inline', value } });
  }
  return toBinary(schema, message as never);
};
