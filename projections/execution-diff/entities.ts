import { create, type DescMessage, fromBinary, fromJson, type JsonObject, type MessageShape } from '@bufbuild/protobuf';
import { ValueSchema } from '@bufbuild/protobuf/wkt';

import { type NodeExecution } from '../../proto/gen/platformidl/admin/node_execution_pb.js';
import { type TaskExecution } from '../../proto/gen/platformidl/admin/task_execution_pb.js';
import {
  type EntityDiff,
  EntityDiff_Kind as Kind,
  EntityDiffSchema,
  FieldDiffSchema,
  HistoryEntity,
} from '../../proto/gen/platformidl/eventlog/history_pb.js';
import { messageJson } from '../../services/kernel/encoding/message-json.js';
import type { Collection } from '../runtime/read-store.js';
import { leafDifferences, type LeafDifference, type Leaves, leavesOf } from './difference.js';

/** One kind of entity of an execution: where its documents are, and the message that Get answers with. */
export type EntityKind = {
  readonly entity: HistoryEntity.EXECUTION | HistoryEntity.NODE | HistoryEntity.TASK;
  readonly collection: Collection;
  readonly schema: DescMessage;
};

/** An entity at both moments, as Get answers it, encoded; absent at a moment where it is not there. */
export type Compared = { readonly before: Uint8Array | undefined; readonly after: Uint8Array | undefined };

/** Further leaves of the entity at both moments. */
export type ExtraLeaves = { readonly before: Leaves; readonly after: Leaves };

const NO_LEAVES: Leaves = new Map();

/** The leaves of an entity without its identifier, which differs for two executions. */
const leavesIn = ({ schema }: EntityKind, encoded: Uint8Array | undefined, further: Leaves): Leaves => {
  if (!encoded) return NO_LEAVES;
  const json = messageJson(schema, fromBinary(schema, encoded), {}) as JsonObject;
  delete json['id'];
  return new Map([...leavesOf(json), ...further]);
};

type Identity = Partial<Pick<EntityDiff, 'entity' | 'nodeId' | 'taskId' | 'attempt'>>;

const identity = ({ entity, schema }: EntityKind, encoded: Uint8Array): Identity => {
  const message: MessageShape<DescMessage> = fromBinary(schema, encoded);
  if (entity === HistoryEntity.NODE) return { entity, nodeId: (message as NodeExecution).id?.nodeId ?? '' };
  if (entity === HistoryEntity.EXECUTION) return { entity };
  const { taskId, nodeExecutionId, retryAttempt = 0 } = (message as TaskExecution).id ?? {};
  return { entity, nodeId: nodeExecutionId?.nodeId ?? '', attempt: retryAttempt, ...(taskId && { taskId }) };
};

const fieldOf = ({ path, before, after }: LeafDifference) =>
  create(FieldDiffSchema, {
    path,
    ...(before !== undefined && { before: fromJson(ValueSchema, before) }),
    ...(after !== undefined && { after: fromJson(ValueSchema, after) }),
  });

const kindOf = ({ before, after }: Compared): Kind => {
  if (!before) return Kind.ADDED;
  return after ? Kind.CHANGED : Kind.REMOVED;
};

/**
 * Compares an entity at two moments; `undefined` when it is at neither, or at both and nothing differs that is asked
 * for.
 */
export const entityDiff = (
  kind: EntityKind,
  compared: Compared,
  { further, isAsked }: { readonly further?: ExtraLeaves; readonly isAsked: (path: string) => boolean },
): EntityDiff | undefined => {
  const encoded = compared.after ?? compared.before;
  if (!encoded) return undefined;
  const before = leavesIn(kind, compared.before, further?.before ?? NO_LEAVES);
  const after = leavesIn(kind, compared.after, further?.after ?? NO_LEAVES);
  const fields = leafDifferences(before, after).filter(({ path }) => isAsked(path));
  const isOnOneSide = !compared.before || !compared.after;
  if (fields.length === 0 && !isOnOneSide) return undefined;
  return create(EntityDiffSchema, { ...identity(kind, encoded), kind: kindOf(compared), fields: fields.map(fieldOf) });
};
