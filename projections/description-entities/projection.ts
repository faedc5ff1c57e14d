import { create, toBinary } from '@bufbuild/protobuf';

import {
  type DescriptionEntity,
  DescriptionEntitySchema,
  DescriptionSchema,
  SourceCodeSchema,
} from '../../proto/gen/platformidl/admin/description_entity_pb.js';
import type { TaskEvent } from '../../services/task/events.js';
import type { WorkflowEvent } from '../../services/workflow/events.js';
import { beginningOf } from '../query/clip.js';
import type { SeenEvent } from '../runtime/read-model.js';
import type { StoredDocument } from '../runtime/read-store.js';
import { readModel } from '../runtime/typed-read-model.js';
import { microsOf, timestampOfMs } from '../query/times.js';
import { descriptionEntityCollection } from './columns.js';

/** A description never changes, so its document is kept in stored form. */
export type DescriptionDocument = Omit<StoredDocument, 'key' | 'position'>;

/** UTF-16 code units of a text that filters and sorts use. */
const COMPARED = 1_024;

const idFields = ({ id }: DescriptionEntity): StoredDocument['fields'] => {
  const { resourceType = 0, project = '', domain = '', name = '', version = '' } = id ?? {};
  return { resource_type: resourceType, project, domain, name, version };
};

const fieldsOf = (entity: DescriptionEntity, event: SeenEvent): StoredDocument['fields'] => ({
  ...idFields(entity),
  created_at: microsOf(timestampOfMs(event.metadata.recordedAtMs)),
  recorded: Number(event.position),
  short_description: beginningOf(entity.shortDescription, COMPARED),
  long_description: beginningOf(entity.longDescription?.content.value ?? '', COMPARED),
  link: beginningOf(entity.sourceCode?.link ?? '', COMPARED),
});

const registered = (
  _: DescriptionDocument | undefined,
  event: SeenEvent<TaskEvent | WorkflowEvent>,
): DescriptionDocument | undefined => {
  const { id, description } = event.body.data;
  if (description === undefined) return undefined;
  const entity = create(DescriptionEntitySchema, {
    ...description,
    ...(id && { id }),
    // Clients read both fields without checking that they are set.
    longDescription: description.longDescription ?? create(DescriptionSchema),
    sourceCode: description.sourceCode ?? create(SourceCodeSchema),
  });
  return { fields: fieldsOf(entity, event), response: toBinary(DescriptionEntitySchema, entity) };
};

/** Descriptions, one document for each version that has one, keyed by the version's stream. */
export const descriptionEntities = readModel<DescriptionDocument, TaskEvent | WorkflowEvent>({
  collection: descriptionEntityCollection,
  handlers: { TaskRegistered: { fold: registered }, WorkflowRegistered: { fold: registered } },
  encode: (_, document) => document,
  decode: ({ fields, response }) => ({ fields, response }),
});
