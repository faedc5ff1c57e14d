import kafkajs, { type Kafka, type LogEntry, type SASLOptions } from 'kafkajs';

/** Who one is for the brokers. */
export type Credentials = {
  readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512';
  readonly username: string;
  readonly password: string;
};

/** How the brokers are reached. */
export type Connection = {
  readonly brokers: readonly string[];
  /** TLS, trusting these authorities in PEM, or those of the platform. */
  readonly tls?: { readonly authorities?: string };
  readonly credentials?: Credentials;
};

/** What the client says of itself: it calls what it tries again an error, so it is for whoever looks into it. */
export type ClientTrace = (said: { readonly level: string; readonly message: string }) => void;

/** A client of one cluster. */
export const kafkaClient = ({ brokers, tls, credentials }: Connection, trace: ClientTrace = () => undefined): Kafka =>
  new kafkajs.Kafka({
    clientId: 'flightlog',
    brokers: [...brokers],
    connectionTimeout: 5_000,
    requestTimeout: 15_000,
    ...(tls && { ssl: tls.authorities === undefined ? true : { ca: [tls.authorities] } }),
    ...(credentials && { sasl: { ...credentials } as SASLOptions }),
    // Whoever uses it starts over by itself, from what the cluster knows.
    retry: { retries: 3, initialRetryTime: 100, maxRetryTime: 2_000 },
    logLevel: kafkajs.logLevel.INFO,
    logCreator:
      () =>
      ({ label, log: { message } }: LogEntry) =>
        trace({ level: label, message }),
  });
