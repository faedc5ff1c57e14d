import { kafkaClient, type ClientTrace, type Connection } from './client.js';
import { exportPart, type PartOptions } from './part.js';

export type ExportOptions = Omit<PartOptions, 'kafka' | 'brokers'> & {
  readonly connection: Connection;
  /** Hears what the client says of itself. */
  readonly trace: ClientTrace;
};

/** An export at work. */
export interface ExportToKafka {
  /** Rejects with an {@link ExportRefused} when it cannot begin. */
  readonly ended: Promise<unknown>;
  /** How long something has waited to be published, in milliseconds. */
  lagMs(): number;
  close(): Promise<void>;
}

/**
 * Publishes the log to Kafka, each event once, as CloudEvents: a topic for each category of streams, a key for each
 * thing, and for each key the order of the log. Waits for brokers that cannot be reached.
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
