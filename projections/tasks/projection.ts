import { create, toBinary } from '@bufbuild/protobuf';
import { IdentifierSchema } from '../../proto/gen/platformidl/core/identifier_pb.js';
import type { TaskEvent } from '../../services/task/events.js';
import { loadedBytes } from '../runtime/decoded.js';
import type { SeenEvent } from '../runtime/read-model.js';
import type { StoredDocument } from '../runtime/read-store.js';
import { readModel } from '../runtime/typed-read-model.js';
import { microsOf, timestampOfMs } from '../query/times.js';
import { digestText } from '../query/versions/version-columns.js';
import { versionAnswer } from '../query/versions/version-answer.js';
import { taskCollection } from './columns.js';

/** A registered task never changes, so its document is kept in stored form. */
export type TaskDocument = Omit<StoredDocument, 'key' | 'position'>;

const registered = (event: SeenEvent<TaskEvent>): TaskDocument => {
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
      type: data.taskType,
      short_description: shortDescription,
    },
    response: versionAnswer({
      id: toBinary(IdentifierSchema, id),
      compiled: loadedBytes(data.compiled),
      createdAt,
      shortDescription,
    }),
  };
};

/** Registered tasks, one document for each version, keyed by the version's stream. */
export const tasks = readModel<TaskDocument, TaskEvent>({
  collection: taskCollection,
  handlers: { TaskRegistered: { fold: (_, event) => registered(event) } },
  encode: (_, document) => document,
  decode: ({ fields, response }) => ({ fields, response }),
});
