import { create, toBinary } from '@bufbuild/protobuf';
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import { WorkflowSchema } from '../../proto/gen/platformidl/admin/workflow_pb.js';
import { type Identifier, IdentifierSchema } from '../../proto/gen/platformidl/core/identifier_pb.js';
import type { WorkflowRegistered } from '../../proto/gen/platformidl/eventlog/workflow_pb.js';
import type { WorkflowEvent } from '../../services/workflow/events.js';
import { loadedBytes } from '../runtime/decoded.js';
import { digestText } from '../query/versions/version-columns.js';
import type { SeenEvent } from '../runtime/read-model.js';
import type { StoredDocument } from '../runtime/read-store.js';
import { readModel } from '../runtime/typed-read-model.js';
import { microsOf, timestampOfMs } from '../query/times.js';
import { versionAnswer } from '../query/versions/version-answer.js';
import { workflowCollection } from './columns.js';

/** A registered workflow never changes, so its document is kept in stored form. */
export type WorkflowDocument = Omit<StoredDocument, 'key' | 'position'>;

/** The element of lists: the fields that a launch form needs; of the compiled closure, the interface alone. */
const elementOf = (data: WorkflowRegistered, id: Identifier, createdAt: Timestamp): Uint8Array => {
  const { interface: typed, description } = data;
  return toBinary(
    WorkflowSchema,
    create(WorkflowSchema, {
      id,
      closure: { createdAt, compiledWorkflow: { primary: { template: { ...(typed && { interface: typed }) } } } },
      shortDescription: description?.shortDescription ?? '',
    }),
  );
};

const registered = (event: SeenEvent<WorkflowEvent>): WorkflowDocument => {
  const { data } = event.body;
  const id = data.id ?? create(IdentifierSchema);
  const createdAt = timestampOfMs(event.metadata.recordedAtMs);
  const shortDescription = data.description?.shortDescription ?? '';
  return {
    fields: {
      project: id.project,
      domain: id.domain,
      name: id.name,
      version: id.version,
      created_at: microsOf(createdAt),
      updated_at: microsOf(createdAt),
      recorded: Number(event.position),
      digest: digestText(data.digest),
      short_description: shortDescription,
    },
    response: versionAnswer({
      id: toBinary(IdentifierSchema, id),
      compiled: loadedBytes(data.compiled),
      createdAt,
      shortDescription,
    }),
    listElement: elementOf(data, id, createdAt),
  };
};

/** Registered workflows, one document for each version, keyed by the version's stream. */
export const workflows = readModel<WorkflowDocument, WorkflowEvent>({
  collection: workflowCollection,
  handlers: { WorkflowRegistered: { fold: (_, event) => registered(event) } },
  encode: (_, document) => document,
  decode: ({ fields, response, listElement }) => ({ fields, response, ...(listElement && { listElement }) }),
});
