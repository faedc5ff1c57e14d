import * as z from 'zod';
import { EXPORT_FORMATS } from '../reactors/export-to-kafka/message.js';
import { flag, integer, oneOrMore } from './setting-kinds.js';

/** The Kafka client splits the text at its first colon, so that no IPv6 address can be in it. */
const BROKER = /^[^\s:/]+:(?<port>\d{1,5})$/u;
const MAX_PORT = 65_535;

const isBroker = (text: string): boolean => {
  const port = Number(BROKER.exec(text)?.groups?.['port'] ?? 0);
  return port > 0 && port <= MAX_PORT;
};

const broker = z.string().refine(isBroker, {
  error: 'must be HOST:PORT, with a port from 1 to 65535; for an IPv6 address name a host that has it',
});

const brokers = z.preprocess(
  (value) => (typeof value === 'string' ? value.split(',').map((each) => each.trim()) : value),
  z.array(broker, { error: 'must be HOST:PORT, or several with commas' }),
);

const MECHANISMS = ['plain', 'scram-sha-256', 'scram-sha-512'] as const;

/** Kafka's protocol has 32 bits with a sign for the partitions of a topic, and 16 for the replicas of a partition. */
const MAX_PARTITIONS = 2 ** 31 - 1;
const MAX_REPLICAS = 2 ** 15 - 1;

/** The settings of the export to Kafka. */
export const kafka = z.strictObject({
  brokers: brokers.default([]).describe('`HOST:PORT` of the brokers to which events are published; empty is no export'),
  format: z
    .enum(EXPORT_FORMATS, { error: `must be one of ${EXPORT_FORMATS.join(', ')}` })
    .default('json')
    .describe('event format of CloudEvents: `json` or `protobuf`'),
  topic_prefix: z
    .string()
    .regex(/^[A-Za-z0-9._-]{1,180}$/u, { error: 'must be letters, digits, dots, dashes and underscores, at most 180' })
    .default('flightlog')
    .describe('prefix of the names of all topics'),
  topic_partitions: integer(MAX_PARTITIONS, `must be from 1 to ${MAX_PARTITIONS}`)
    .refine((partitions) => partitions > 0, { error: `must be from 1 to ${MAX_PARTITIONS}` })
    .default(6)
    .describe('partitions of each topic of events'),
  replication_factor: integer(MAX_REPLICAS, `must be from 0 to ${MAX_REPLICAS}`)
    .default(0)
    .describe('replicas of each partition of a created topic; 0 is the default of the cluster'),
  export_partitions: oneOrMore
    .default(1)
    .describe('partitions of the log that are published concurrently; fixed from the first event on'),
  tls: flag.default(false).describe('connect with TLS'),
  tls_ca: z
    .string()
    .default('')
    .describe('file with the authorities to trust, in PEM; by default those that Node.js trusts'),
  sasl_mechanism: z
    .enum(MECHANISMS, { error: `must be one of ${MECHANISMS.join(', ')}` })
    .default('plain')
    .describe('mechanism of authentication: `plain`, `scram-sha-256` or `scram-sha-512`'),
  sasl_username: z.string().default('').describe('username at the brokers; without it there is no authentication'),
  sasl_password: z.string().default('').describe('password at the brokers'),
});
