import { ConsumerStrategy, type Settings } from '../../../../proto/gen/event_store/client/persistent_pb.js';
import { missing } from '../../../kernel/rpc.js';
import { TICKS_IN_MS } from '../recorded.js';
import type { GroupRules } from './delivery/delivery.js';
import type { Strategy } from './delivery/consumer-pool.js';

/** The settings of a group, as they are recorded and answered. */
export type GroupSettings = {
  readonly resolveLinks: boolean;
  readonly extraStatistics: boolean;
  readonly messageTimeoutMs: number;
  readonly maxRetryCount: number;
  readonly checkpointAfterMs: number;
  readonly minCheckpointCount: number;
  readonly maxCheckpointCount: number;
  readonly maxSubscriberCount: number;
  readonly liveBufferSize: number;
  readonly readBatchSize: number;
  readonly historyBufferSize: number;
  readonly strategy: string;
};

const millisecondsOf = ({ case: unit, value }: Settings['messageTimeout'] | Settings['checkpointAfter']): number => {
  if (unit === undefined) return 0;
  return typeof value === 'bigint' ? Number(value / TICKS_IN_MS) : value;
};

/**
 * Reads the settings of a group.
 *
 * @throws {RpcError} INVALID_ARGUMENT when they are absent.
 */
export const groupSettingsOf = (requested: Settings | undefined): GroupSettings => {
  if (requested === undefined) throw missing('options.settings');
  const named = ConsumerStrategy[requested.namedConsumerStrategy] as string | undefined;
  return {
    resolveLinks: requested.resolveLinks,
    extraStatistics: requested.extraStatistics,
    messageTimeoutMs: millisecondsOf(requested.messageTimeout),
    maxRetryCount: requested.maxRetryCount,
    checkpointAfterMs: millisecondsOf(requested.checkpointAfter),
    minCheckpointCount: requested.minCheckpointCount,
    maxCheckpointCount: requested.maxCheckpointCount,
    maxSubscriberCount: requested.maxSubscriberCount,
    liveBufferSize: requested.liveBufferSize,
    readBatchSize: requested.readBatchSize,
    historyBufferSize: requested.historyBufferSize,
    strategy: requested.consumerStrategy === '' ? (named ?? 'RoundRobin') : requested.consumerStrategy,
  };
};

/** The contradiction in settings, in the words of EventStoreDB; `undefined` when there is none. */
export const contradictionIn = ({ readBatchSize, historyBufferSize }: GroupSettings): string | undefined =>
  readBatchSize >= historyBufferSize
    ? "Specified argument was out of the range of valid values. (Parameter 'ReadBatchSize may not be greater than or equal to BufferSize')"
    : undefined;

const STRATEGIES: ReadonlySet<string> = new Set<Strategy>(['RoundRobin', 'DispatchToSingle', 'Pinned']);

/** The largest number of events that a group reads ahead, whatever its settings say. */
const MAX_READ_AHEAD = 1_000;

/** The rules of a group by its settings. An unknown strategy is treated as round robin. */
export const rulesOf = (settings: GroupSettings): GroupRules => ({
  strategy: STRATEGIES.has(settings.strategy) ? (settings.strategy as Strategy) : 'RoundRobin',
  maxRetryCount: settings.maxRetryCount,
  messageTimeoutMs: settings.messageTimeoutMs,
  maxConsumers: settings.maxSubscriberCount,
  readAhead: Math.max(1, Math.min(settings.historyBufferSize, MAX_READ_AHEAD)),
});
