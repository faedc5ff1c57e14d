import { kafkaClient, type ClientTrace, type Connection } from './client.js';
import { exportPart, type PartOptions } from './part.js';

export type ExportOptions = Omit<PartOptions, 'kafka' | 'brokers'> & {
  readonly connection: Connection;
  /** Called with the log lines of the Kafka client. */
  readonly trace: ClientTrace;
};

/** A running export. */
export interface ExportToKafka {
  /** Rejects with an {@link ExportRefused} when it cannot start. */
  readonly ended: Promise<unknown>;
  /** Age in milliseconds of the oldest event that waits to be published; 0 when none waits. */
  lagMs(): number;
  close(): Promise<void>;
}

/**
 * Publishes the log to Kafka, each event exactly once, as CloudEvents: one topic for each category of streams, one key
 * for each entity, and the order of the log for each key. Waits while the brokers cannot be reached.
 */
export const exportToKafka = ({ connection, trace, ...options }: ExportOptions): ExportToKafka => {
  const kafka = kafkaClient(connection, trace);
  const parts = Array.from({ length: options.parts }, (_, part) =>
    exportPart(part, { ...options, kafka, brokers: connection.brokers }),
  );
  return {
    ended: Promise.all(parts.map(({ ended }) => ended)),
    lagMs: () => {
      const since = parts.map((part) => part.behindSinceMs()).filter((each) => each !== undefined);
      return since.length === 0 ? 0 : Math.max(0, Date.now() - Math.min(...since));
    },
    close: async () => {
      await Promise.all(parts.map((part) => part.close()));
    },
  };
};
