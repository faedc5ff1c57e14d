import kafkajs, { type Kafka, type LogEntry, type SASLOptions } from 'kafkajs';

/** Credentials for the brokers. */
export type KafkaCredentials = {
  readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512';
  readonly username: string;
  readonly password: string;
};

/** Connection settings of a Kafka cluster. */
export type KafkaConnection = {
  readonly brokers: readonly string[];
  /** Enables TLS; trusts these certificate authorities (PEM), by default those of Node. */
  readonly tls?: { readonly authorities?: string };
  readonly credentials?: KafkaCredentials;
};

/**
 * Called with the log lines of the Kafka client. The client logs attempts that it will retry as errors, so these lines
 * are for debugging.
 */
export type ClientTrace = (line: { readonly level: string; readonly message: string }) => void;

/** Makes a client of one cluster. */
export const kafkaClient = (
  { brokers, tls, credentials }: KafkaConnection,
  trace: ClientTrace = () => undefined,
): Kafka =>
  new kafkajs.Kafka({
    clientId: 'flightlog',
    brokers: [...brokers],
    connectionTimeout: 5_000,
    requestTimeout: 15_000,
    ...(tls && { ssl: tls.authorities === undefined ? true : { ca: [tls.authorities] } }),
    ...(credentials && { sasl: { ...credentials } as SASLOptions }),
    // Few retries: the export retries the whole operation itself, and first reads again what the cluster has.
    retry: { retries: 3, initialRetryTime: 100, maxRetryTime: 2_000 },
    logLevel: kafkajs.logLevel.INFO,
    logCreator:
      () =>
      ({ label, log: { message } }: LogEntry) =>
        trace({ level: label, message }),
  });
