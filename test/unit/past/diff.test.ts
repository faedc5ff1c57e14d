import {
  create,
  type DescMessage,
  fromBinary,
  type JsonObject,
  type JsonValue,
  toBinary,
  toJson,
} from '@bufbuild/protobuf';
import { ValueSchema } from '@bufbuild/protobuf/wkt';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { leavesOf } from '../../../projections/execution-diff/difference.js';
import { executionDiffRoutes } from '../../../projections/execution-diff/rpc.js';
import { executions } from '../../../projections/executions/projection.js';
import { nodeExecutions } from '../../../projections/node-executions/projection.js';
import { openPrefixes } from '../../../projections/query/kept-prefixes.js';
import type { ReadModel } from '../../../projections/runtime/read-model.js';
import { temporaryReadStore } from '../../../projections/store/sqlite/temporary-read-store.js';
import { taskExecutions } from '../../../projections/task-executions/projection.js';
import { ExecutionSchema } from '../../../proto/gen/platformidl/admin/execution_pb.js';
import { LiteralMapSchema } from '../../../proto/gen/platformidl/core/literals_pb.js';
import { ExecutionCreatedSchema } from '../../../proto/gen/platformidl/eventlog/execution_pb.js';
import { NodeExecutionSchema } from '../../../proto/gen/platformidl/admin/node_execution_pb.js';
import { TaskExecutionSchema } from '../../../proto/gen/platformidl/admin/task_execution_pb.js';
import {
  DiffRequestSchema,
  type DiffResponse,
  type EntityDiff,
  HistoryEntity,
} from '../../../proto/gen/platformidl/eventlog/history_pb.js';
import type { RecordedEvent } from '../../../services/kernel/event.js';
import { codecs } from '../../../services/main/models.js';
import { momentsIn } from '../../../services/main/past/moments.js';
import { documentsAfter } from '../../support/views/run-views.js';
import { creation, id, openStream, termination } from '../execution/reports.js';
import { logIn, noPayloads } from '../streams/history/recorded.js';
import { anyReport, recordedBy, withTimes } from './reports.js';
import { noEngineData } from '../../../services/main/engines/engine-data.js';

const KINDS: readonly (readonly [HistoryEntity, ReadModel<unknown>, DescMessage])[] = [
  [HistoryEntity.EXECUTION, executions, ExecutionSchema],
  [HistoryEntity.NODE, nodeExecutions, NodeExecutionSchema],
  [HistoryEntity.TASK, taskExecutions, TaskExecutionSchema],
];

type Leaves = Map<string, JsonValue>;

/**
 * The entities after some events, folded by the read models: each as the leaves of the JSON of its Get, under the key
 * `ENTITY NODE ATTEMPT`.
 */
const entitiesAfter = (events: readonly RecordedEvent[]): Map<string, Leaves> =>
  new Map(
    KINDS.flatMap(([entity, model, schema]) =>
      [...documentsAfter(model, events).values()].map(({ response }) => {
        const json = toJson(schema, fromBinary(schema, response)) as JsonObject;
        const own = json['id'] as { nodeId?: string; nodeExecutionId?: { nodeId: string }; retryAttempt?: number };
        delete json['id'];
        const nodeId = own.nodeId ?? own.nodeExecutionId?.nodeId ?? '';
        return [`${entity} ${nodeId} ${own.retryAttempt ?? 0}`, new Map(leavesOf(json))] as const;
      }),
    ),
  );

/** The entities with the differences applied, which changes them in place. */
const applied = (entities: Map<string, Leaves>, differences: readonly EntityDiff[]): Map<string, Leaves> => {
  for (const { entity, nodeId, attempt, fields } of differences) {
    const key = `${entity} ${nodeId} ${attempt}`;
    const leaves: Leaves = entities.get(key) ?? new Map<string, JsonValue>();
    for (const { path, after } of fields) {
      if (after) leaves.set(path, toJson(ValueSchema, after));
      else leaves.delete(path);
    }
    if (leaves.size > 0) entities.set(key, leaves);
    else entities.delete(key);
  }
  return entities;
};

/** Gives a function that asks Diff for the differences of two positions, page by page of `limit` entities. */
const diffing = (events: readonly RecordedEvent[]) => {
  const log = { logId: 'log', ...logIn(withTimes(events)) } as never;
  const past = { log, payloads: noPayloads, engineData: noEngineData, warn: () => undefined };
  const call = { principal: '', requestId: '', isCancelled: () => false, answeredAt: () => undefined };
  const prefixes = openPrefixes({ log, payloads: noPayloads, codecs, openStore: temporaryReadStore });
  const [route] = executionDiffRoutes(momentsIn(prefixes, past, call));
  return async (asOf: number, otherAsOf: number, limit: number): Promise<readonly EntityDiff[]> => {
    const found: EntityDiff[] = [];
    let token = '';
    do {
      const asked = { id, asOf: String(asOf), otherAsOf: String(otherAsOf), limit, token };
      const page = (await route!.handle(create(DiffRequestSchema, asked) as never, call)) as DiffResponse;
      found.push(...page.entities);
      ({ token } = page);
    } while (token !== '');
    return found;
  };
};

describe('the difference of two moments', () => {
  // An execution has one event for its creation and at most one for each command: up to 26 positions.
  it('gives the second when it is applied to the first, in pages of any size', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(anyReport, { maxLength: 25 }),
        fc.integer({ min: 1, max: 27 }),
        fc.integer({ min: 1, max: 27 }),
        fc.integer({ min: 1, max: 5 }),
        async (commands, first, second, limit) => {
          const events = await recordedBy(commands);
          const upTo = (end: number) => entitiesAfter(events.filter(({ position }) => position <= BigInt(end)));
          const differences = await diffing(events)(first, second, limit);
          expect(applied(upTo(first), differences)).toEqual(upTo(second));
          if (first === second) expect(differences).toEqual([]);
        },
      ),
      { numRuns: Number(process.env['FLIGHTLOG_TEST_RUNS'] ?? 25) },
    ));

  it('is given where JSON cannot represent the inputs: a NaN in a struct, or a duration of more than 10,000 years', async () => {
    const struct = { value: { case: 'generic', value: { share: NaN } } } as const;
    const duration = { value: { case: 'duration', value: { seconds: 400_000_000_000n } } } as const;
    const inputs = create(LiteralMapSchema, {
      literals: {
        s: { value: { case: 'scalar', value: struct } },
        d: { value: { case: 'scalar', value: { value: { case: 'primitive', value: duration } } } },
      },
    });
    const content = { content: { case: 'inline' as const, value: toBinary(LiteralMapSchema, inputs) } };
    const created = create(ExecutionCreatedSchema, { id, spec: { inputs }, inputs: content });
    const run = openStream({ ...creation, created });
    await run.refusal(termination);
    const [execution] = await diffing(run.recorded)(1, 2, 1);
    expect(execution?.fields.map(({ path }) => path)).toContain('/closure/phase');
  });
});
