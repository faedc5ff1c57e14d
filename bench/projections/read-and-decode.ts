import { fromBinary } from '@bufbuild/protobuf';
import { NodeExecutionEventSchema } from '../../proto/gen/platformidl/event/event_pb.js';
import { executionCodec } from '../../services/execution/events.js';
import { metadataOf, type RecordedEvent } from '../../services/kernel/event.js';
import { sqliteLogReader } from '../../services/store/log/sqlite-log-reader.js';

const decode = (event: RecordedEvent): void => {
  const decoded = executionCodec.decode(event.type, event.data, metadataOf(event).schema);
  if (decoded.type !== 'NodePhaseReported') return;
  const [message] = executionCodec.contents(decoded);
  if (message?.content.case === 'inline') fromBinary(NodeExecutionEventSchema, message.content.value);
};

/**
 * A baseline: reads the events of executions and decodes each with the decoder that the projections use, and the
 * engine's message in reports of nodes.
 *
 * @returns events per second.
 */
export const readAndDecode = async (directory: string): Promise<number> => {
  const log = await sqliteLogReader({ directory });
  const started = performance.now();
  let count = 0;
  for await (const { events } of log.readLog({ after: 0n, filter: { categories: ['execution'] } })) {
    for (const event of events) decode(event);
    count += events.length;
  }
  await log.close();
  return (count * 1_000) / (performance.now() - started);
};
