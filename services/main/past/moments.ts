import { create, fromBinary, type JsonObject } from '@bufbuild/protobuf';
import type { Moments } from '../../../projections/execution-diff/rpc.js';
import { executions } from '../../../projections/executions/projection.js';
import { nodeExecutions } from '../../../projections/node-executions/projection.js';
import type { Prefixes } from '../../../projections/query/kept-prefixes.js';
import type { RecordedContents } from '../../../projections/query/recorded-contents.js';
import type { DocumentReads } from '../../../projections/runtime/read-store.js';
import { taskExecutions } from '../../../projections/task-executions/projection.js';
import {
  ExecutionSchema,
  WorkflowExecutionGetDataRequestSchema,
  WorkflowExecutionGetDataResponseSchema,
} from '../../../proto/gen/platformidl/admin/execution_pb.js';
import { NodeExecutionSchema } from '../../../proto/gen/platformidl/admin/node_execution_pb.js';
import { TaskExecutionSchema } from '../../../proto/gen/platformidl/admin/task_execution_pb.js';
import { LiteralMapSchema } from '../../../proto/gen/platformidl/core/literals_pb.js';
import { HistoryEntity } from '../../../proto/gen/platformidl/eventlog/history_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { messageJson } from '../../kernel/encoding/message-json.js';
import type { Call } from '../../kernel/rpc.js';
import { noEngineData } from '../engines/engine-data.js';
import { routesOver, executionModels } from './as-of.js';
import { type ExecutionId, executionStream } from '../../kernel/execution-id.js';

const dataOf = async (
  store: DocumentReads,
  id: ExecutionId,
  { contents, call }: { contents: RecordedContents; call: Call },
) => {
  const data = AdminService.method.getExecutionData;
  const route = routesOver(store, contents).find(({ method }) => method === data);
  const request = create(WorkflowExecutionGetDataRequestSchema, { id });
  return fromBinary(
    WorkflowExecutionGetDataResponseSchema,
    (await route?.handle(request as never, call)) as Uint8Array,
  );
};

/** Gives executions as they were at a moment, from folded prefixes. */
export const momentsIn = (prefixes: Prefixes, contents: RecordedContents, call: Call): Moments => {
  const ownContents = { ...contents, engineData: noEngineData }; // the inputs are compared, and not the outputs
  return {
    logId: contents.log.logId,
    kinds: [
      { entity: HistoryEntity.EXECUTION, collection: executions.collection, schema: ExecutionSchema },
      { entity: HistoryEntity.NODE, collection: nodeExecutions.collection, schema: NodeExecutionSchema },
      { entity: HistoryEntity.TASK, collection: taskExecutions.collection, schema: TaskExecutionSchema },
    ],
    at: async (id, until) => {
      const stream = executionStream(id);
      const opened = await prefixes.open({ stream, models: executionModels }, until);
      const inputs = async () => {
        const { fullInputs } = await dataOf(opened.store, id, { contents: ownContents, call });
        const json = fullInputs && (messageJson(LiteralMapSchema, fullInputs, {}) as JsonObject);
        return { ...(json?.['literals'] as JsonObject | undefined) };
      };
      return { ...opened, stream, inputs };
    },
  };
};
