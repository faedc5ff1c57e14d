import type { TopicSettings } from '../../reactors/export-to-kafka/topics.js';
import type { Configuration } from '../../config/configuration.js';
import { authoritiesIn } from '../../config/authorities-file.js';
import type { KafkaConnection } from '../../reactors/export-to-kafka/client.js';

type KafkaSettings = Configuration['kafka'];

/**
 * The connection to the configured brokers.
 *
 * @throws {OperatorError} when the file of certificate authorities cannot be read, or has no certificate.
 */
export const connectionOf = (kafka: KafkaSettings): KafkaConnection => {
  const { brokers, tls, tls_ca: file, sasl_username: username, sasl_password: password } = kafka;
  return {
    brokers,
    ...(tls && { tls: file === '' ? {} : { authorities: authoritiesIn(file, 'kafka.tls_ca') } }),
    ...(username !== '' && { credentials: { mechanism: kafka.sasl_mechanism, username, password } }),
  };
};

/** The prefix, partitions and replication factor of topics; a factor of -1 is the broker's default. */
export const topicsOf = (kafka: KafkaSettings): TopicSettings => ({
  prefix: kafka.topic_prefix,
  partitions: kafka.topic_partitions,
  replicationFactor: kafka.replication_factor === 0 ? -1 : kafka.replication_factor,
});
