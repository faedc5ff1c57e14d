import type { Kafka, Producer } from 'kafkajs';

const noOp = (): Promise<void> => Promise.resolve();

/** The topics of a cluster by name, with the cleanup policy of each. */
type Topics = Readonly<Record<string, 'compact' | 'delete'>>;

/** A client of a cluster with empty topics of one partition each, with the methods that exports call. */
export const emptyCluster = (topics: Topics, maxMessageBytes: number, producer: Partial<Producer>): Kafka => {
  const names = Object.keys(topics);
  const admin = {
    connect: noOp,
    disconnect: noOp,
    listTopics: () => Promise.resolve(names),
    fetchTopicOffsets: () => Promise.resolve([{ partition: 0, offset: '0', high: '0', low: '0' }]),
    fetchTopicMetadata: () =>
      Promise.resolve({ topics: names.map((name) => ({ name, partitions: [{ partitionId: 0 }] })) }),
    describeConfigs: () =>
      Promise.resolve({
        resources: Object.entries(topics).map(([resourceName, policy]) => ({
          resourceName,
          configEntries: [
            { configName: 'cleanup.policy', configValue: policy },
            { configName: 'max.message.bytes', configValue: String(maxMessageBytes) },
          ],
        })),
      }),
  };
  const client = { admin: () => admin, producer: () => ({ connect: noOp, disconnect: noOp, ...producer }) };
  return client as unknown as Kafka;
};
