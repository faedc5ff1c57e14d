import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { eventSchemas } from '../../../services/event-json/event-schemas.js';
import { eventTypes } from '../../../services/event-json/event-types.js';
import { codecs } from '../../../services/main/models.js';
import { CHECKOUT } from '../../support/processes/command.js';
import { protoComments } from '../../support/documents/proto-comments.js';

const FOLDER = join(CHECKOUT, 'docs/events');
const schemas = eventSchemas(eventTypes(codecs), protoComments());

it.each([...schemas.keys()])('docs/events/%s is the schema that the proto files give', async (file) => {
  await expect(`${JSON.stringify(schemas.get(file), undefined, 2)}\n`).toMatchFileSnapshot(
    join(FOLDER, file),
    '`npm run event-schemas` writes it',
  );
});

it('docs/events has the schemas of all events, and no others', () => {
  // `npm run event-schemas` writes new schemas only after the tests have run.
  const written = process.env['npm_lifecycle_event'] === 'event-schemas' ? schemas.keys() : [];
  const published = new Set([...readdirSync(FOLDER).filter((file) => file.endsWith('.json')), ...written]);
  expect([...published].sort(), '`npm run event-schemas` writes them').toEqual([...schemas.keys()].sort());
});
