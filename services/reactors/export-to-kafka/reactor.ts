import { kafkaClient, type ClientTrace, type KafkaConnection } from './client.js';
import { exportPartition, type PartitionOptions } from './partition.js';

export type ExportOptions = Omit<PartitionOptions, 'kafka' | 'brokers'> & {
  readonly connection: KafkaConnection;
  /** Called with the log lines of the Kafka client. */
  readonly trace: ClientTrace;
};

/** A running export. */
export interface ExportToKafka {
  /**
   * Resolves after `close`. Rejects with an {@link ExportRefused} when a partition is refused before its first session
   * has begun.
   */
  readonly ended: Promise<unknown>;
  /**
   * Age in milliseconds of the oldest event that waits to be published; where that is not known, until a session has
   * caught up, the time since the start, an interruption, or the end of a standby. 0 when no event waits, and on
   * standby.
   */
  lagMs(): number;
  close(): Promise<void>;
}

/**
 * Publishes the log to Kafka, each event exactly once, as CloudEvents: one topic for each category of streams, one key
 * for each entity, and the order of the log for each key. Waits while the brokers cannot be reached.
 */
export const exportToKafka = ({ connection, trace, ...options }: ExportOptions): ExportToKafka => {
  const kafka = kafkaClient(connection, trace);
  const partitions = Array.from({ length: options.partitions }, (_, partition) =>
    exportPartition(partition, { ...options, kafka, brokers: connection.brokers }),
  );
  return {
    ended: Promise.all(partitions.map(({ ended }) => ended)),
    lagMs: () => {
      const since = partitions.map((partition) => partition.behindSinceMs()).filter((each) => each !== undefined);
      return since.length === 0 ? 0 : Math.max(0, Date.now() - Math.min(...since));
    },
    close: async () => {
      await Promise.all(partitions.map((partition) => partition.close()));
    },
  };
};
