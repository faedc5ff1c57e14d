import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { ENGINE_REPORTED } from '../../../services/execution/events.js';
import { eventSchemas, type Schema } from '../../../services/event-json/event-schemas.js';
import { eventTypes } from '../../../services/event-json/event-types.js';
import { codecs } from '../../../services/main/models.js';
import { jsonSchemaOf } from '../../../services/reactors/export-to-kafka/cloud-events/cloud-event.js';
import { CHECKOUT } from '../../support/processes/command.js';
import { protoComments } from '../../support/documents/proto-comments.js';
import { eventPage, explainedMembers } from './event-page.js';
import { sampledTypes } from './samples/sampled-types.js';

const comments = protoComments();
const types = await sampledTypes();

/** Closes a schema, so that it refuses properties that it does not define. */
const closed = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const parts = Object.fromEntries(Object.entries(schema).map(([name, part]) => [name, closed(part)]));
  return 'properties' in schema ? { ...parts, additionalProperties: false } : parts;
};

const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });
for (const schema of eventSchemas(eventTypes(codecs), comments).values()) ajv.addSchema(closed(schema) as Schema);

/** Fields that cannot be set together with a field of the sample. */
const EXCLUDED: readonly string[] = ['ExecutionCreated.taskId'];

it('docs/events/README.md is the page that the code gives', async () => {
  await expect(await eventPage(types, comments)).toMatchFileSnapshot(
    join(CHECKOUT, 'docs/events/README.md'),
    '`npm run event-schemas` writes it',
  );
});

it('docs/events/README.md explains every member of a CloudEvent that a sample has', () => {
  for (const { cloudEvent } of types) expect(explainedMembers).toEqual(expect.arrayContaining(Object.keys(cloudEvent)));
});

describe.each(types)('the sample of $message.name', ({ message, cloudEvent, catLine: { data } }) => {
  it('matches its schema, and has no other field', () => {
    const validate = ajv.getSchema(jsonSchemaOf(message.name, 1))!;
    const isValid = validate(data);
    expect(validate.errors ?? []).toEqual([]);
    expect(isValid).toBe(true);
    expect(validate({ ...data, unheardOf: 1 })).toBe(false);
  });

  it('is the same in Kafka as in `log cat`', () => {
    expect(cloudEvent.data).toEqual(data);
  });
});

// An older type has the fields of the type that replaced it.
it.each(types.filter(({ message }) => message.name !== ENGINE_REPORTED))(
  'the sample of $message.name has every field',
  ({ message, catLine: { data } }) => {
    const absent = message.fields.map(({ jsonName }) => jsonName).filter((name) => !(name in data));
    expect(absent.filter((name) => !EXCLUDED.includes(`${message.name}.${name}`))).toEqual([]);
  },
);
