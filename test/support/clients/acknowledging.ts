import { setTimeout as sleep } from 'node:timers/promises';

import {
  EventStoreDBClient,
  persistentSubscriptionToAllSettingsFromDefaults as settingsFrom,
  START,
  eventTypeFilter,
} from '@eventstore/db-client';

/** A consumer of a persistent subscription, which gets the next event when it has acknowledged the one before. */
export type Acknowledging = {
  /** Events as `stream@revision`. */
  readonly received: ReadonlySet<string>;
  /** Events, as `stream@revision`, that came again although their acknowledgement was durable. */
  readonly repeated: readonly string[];
  /** The number of times that the consumer has subscribed, or tried to. */
  readonly connections: () => number;
  readonly stop: () => Promise<void>;
};

/** The name of the persistent subscription. */
const GROUP = 'followers';
/** The pause before the consumer connects again: a server that is away refuses at once. */
const PAUSE_MS = 20;

/** Opens a client without keepalive pings. */
const connect = (address: string): EventStoreDBClient =>
  EventStoreDBClient.connectionString(`esdb://${address}?tls=false&keepAliveInterval=-1`);

/**
 * Creates a persistent subscription to the events whose type begins with one of `types`, and consumes them from the
 * start of the log. Connects again whenever the connection breaks.
 */
export const consumeOneByOne = async (address: string, types: readonly string[]): Promise<Acknowledging> => {
  const received = new Set<string>();
  const repeated: string[] = [];
  /** An acknowledgement is durable once a different event came after it on the same connection. */
  const durable = new Set<string>();
  let connections = 0;
  const stopping = new AbortController();
  let client = connect(address);
  // An event that was sent more often than maxRetryCount would be parked, and not come again.
  await client.createPersistentSubscriptionToAll(GROUP, settingsFrom({ startFrom: START, maxRetryCount: 1_000 }), {
    filter: eventTypeFilter({ prefixes: [...types] }),
  });

  const consume = async (): Promise<void> => {
    const subscription = client.subscribeToPersistentSubscriptionToAll(GROUP, { bufferSize: 1 });
    let before: string | undefined;
    for await (const resolved of subscription) {
      const { streamId, revision } = resolved.event!;
      const id = `${streamId}@${revision}`;
      if (before !== undefined && before !== id) durable.add(before);
      if (durable.has(id)) repeated.push(id);
      received.add(id);
      await subscription.ack(resolved);
      before = id;
    }
  };
  const consuming = (async () => {
    while (!stopping.signal.aborted) {
      connections += 1;
      await consume().catch(() => undefined); // the server was killed, or the consumer is stopped
      await sleep(PAUSE_MS);
      await client.dispose().catch(() => undefined);
      client = connect(address);
    }
    await client.dispose();
  })();

  return {
    received,
    repeated,
    connections: () => connections,
    stop: async () => {
      stopping.abort();
      await client.dispose().catch(() => undefined);
      await consuming;
    },
  };
};
