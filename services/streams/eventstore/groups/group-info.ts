import type { MessageInitShape } from '@bufbuild/protobuf';
import type { SubscriptionInfoSchema } from '../../../../proto/gen/event_store/client/persistent_pb.js';
import type { GroupStart } from './configuration.js';
import { ALL } from './group-name.js';
import type { RunningGroup } from './running-group.js';

type Info = MessageInitShape<typeof SubscriptionInfoSchema>;

/** The text of a revision in the protocol, or of a position in the log: `C:commit/P:prepare`. */
const positionText = (source: string, position: bigint): string =>
  source === ALL ? `C:${position}/P:${position}` : String(position);

const startText = (source: string, { asked: requested }: GroupStart): string => {
  if (typeof requested === 'bigint') return positionText(source, requested);
  return positionText(source, requested === 'start' ? 0n : -1n);
};

/** The text of a checkpoint or of the last position; empty when there is none yet. */
const checkpointText = (source: string, checkpoint: bigint | undefined): string =>
  checkpoint === undefined || checkpoint < 0n ? '' : positionText(source, checkpoint);

const MAX_INT32 = 2 ** 31 - 1;

/** A time as an answer can hold it: clients send times of up to 2^63 units of 100 ns, for "never". */
const milliseconds = (ms: number): number => Math.max(-MAX_INT32, Math.min(ms, MAX_INT32));

const connectionsOf = (running: RunningGroup): NonNullable<Info['connections']> =>
  running.consumers().map(({ from, connectionName, bufferSize, inFlight }) => ({
    from,
    connectionName,
    availableSlots: Math.max(0, bufferSize - inFlight),
    inFlightMessages: inFlight,
  }));

/** Describes a group as the protocol does. Rates are not measured and are always 0. */
export const groupInfo = async (running: RunningGroup): Promise<Info> => {
  const { source, group, settings, start } = running.group;
  const counts = running.counts();
  const lastKnown = await running.lastKnown();
  return {
    eventSource: source,
    groupName: group,
    status: 'Live',
    connections: connectionsOf(running),
    totalItems: BigInt(counts.delivered),
    lastCheckpointedEventPosition: checkpointText(source, running.checkpoint()),
    lastKnownEventPosition: checkpointText(source, lastKnown),
    resolveLinkTos: settings.resolveLinks,
    startFrom: startText(source, start),
    messageTimeoutMilliseconds: milliseconds(settings.messageTimeoutMs),
    extraStatistics: settings.extraStatistics,
    maxRetryCount: settings.maxRetryCount,
    liveBufferSize: settings.liveBufferSize,
    bufferSize: settings.historyBufferSize,
    readBatchSize: settings.readBatchSize,
    checkPointAfterMilliseconds: milliseconds(settings.checkpointAfterMs),
    minCheckPointCount: settings.minCheckpointCount,
    maxCheckPointCount: settings.maxCheckpointCount,
    readBufferCount: counts.readAhead,
    retryBufferCount: counts.waitingForRetry,
    totalInFlightMessages: counts.inFlight,
    outstandingMessagesCount: counts.inFlight,
    namedConsumerStrategy: settings.strategy,
    maxSubscriberCount: settings.maxSubscriberCount,
    parkedMessageCount: BigInt(counts.parked),
  };
};
