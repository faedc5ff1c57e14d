import { randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create, toBinary } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { NodeExecution_Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import { NodePhaseReportedSchema } from '../../../proto/gen/platformidl/eventlog/execution_pb.js';
import { NodeExecutionEventSchema } from '../../../proto/gen/platformidl/event/event_pb.js';
import type { EventStore } from '../../../services/kernel/ports/event-store.js';
import type { NewEvent, RecordedEvent } from '../../../services/kernel/event.js';
import { streamName } from '../../../services/kernel/stream.js';
import { sqliteEventStore } from '../../../services/store/log/sqlite-event-store.js';

/** Makes an event with metadata as the control plane records it. */
export const newEvent = (type: string, data: Uint8Array): NewEvent => {
  const recordedAtMs = Date.now();
  const id = randomBytes(16);
  const metadata = { recordedAtMs, actor: 'a tester', commandId: id.toString('hex'), schema: 1 };
  return { id, type, data, metadata: JSON.stringify(metadata) };
};

/** Makes an event with an engine's report that the node `nNODE` of an execution runs. */
export const nodeReported = (execution: string, node: number, deckUri = ''): NewEvent => {
  const at = timestampFromMs(Date.now());
  const phase = NodeExecution_Phase.RUNNING;
  const executionId = { project: 'flytesnacks', domain: 'development', name: execution };
  const message = create(NodeExecutionEventSchema, {
    id: { nodeId: `n${node}`, executionId },
    phase,
    occurredAt: at,
    deckUri,
  });
  const report = create(NodePhaseReportedSchema, {
    node: `n${node}`,
    phase,
    occurredAt: at,
    message: { content: { case: 'inline', value: toBinary(NodeExecutionEventSchema, message) } },
  });
  return newEvent('NodePhaseReported', toBinary(NodePhaseReportedSchema, report));
};

/** The stream of an execution of the tests. */
export const executionStream = (name: string) => streamName('execution', ['flytesnacks', 'development', name]);

/**
 * Appends reports of nodes to the streams of the executions `e0`, `e1` and so on, batch after batch; a batch has
 * `perBatch` reports for each execution.
 */
export const report = async (store: EventStore, executions: number, batches: number, perBatch = 10): Promise<void> => {
  for (let batch = 0; batch < batches; batch += 1) {
    const appends = Array.from({ length: executions }, (_, index) => {
      const events = Array.from({ length: perBatch }, (_each, at) => nodeReported(`e${index}`, batch * perBatch + at));
      return store.append(executionStream(`e${index}`), 'any', events);
    });
    await Promise.all(appends);
  }
};

/** Opens an empty log in a new directory; the caller closes the log and removes the directory. */
export const openEmptyLog = async (): Promise<{ directory: string; store: EventStore }> => {
  const directory = mkdtempSync(join(tmpdir(), 'flightlog-export-'));
  return { directory, store: await sqliteEventStore({ directory }) };
};

/** Reads all events of a log. */
export const allEvents = async (store: Pick<EventStore, 'readLog'>): Promise<readonly RecordedEvent[]> => {
  const all: RecordedEvent[] = [];
  for await (const { events } of store.readLog({ after: 0n })) all.push(...events);
  return all;
};
