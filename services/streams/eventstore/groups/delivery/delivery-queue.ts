import type { RecordedEvent } from '../../../../kernel/event.js';
import type { Delivery } from './delivery.js';
import { worker } from '../worker.js';

/** The connection of a consumer. */
export type ConsumerConnection = {
  /** `address:port` of the client. */
  readonly from: string;
  /** The name that the client gave its connection; may be empty. */
  readonly connectionName: string;
  /** Sends an event, and resolves when the client can take the next one. */
  send(event: RecordedEvent, retries: number): Promise<void>;
  /** Ends the call. */
  fail(error: unknown): void;
};

/** Events that wait to be written to the connection of one consumer. */
export interface DeliveryQueue {
  put(delivery: Delivery<RecordedEvent>): void;
}

/** Once this many events of a consumer wait to be written to its connection, it gets no more until none waits. */
const MAX_UNSENT = 16;

/** The functions of a group that its queues use. */
export type DeliveryQueueOwner = {
  /** Reads the event of a delivery that has no content. */
  readonly load: (at: bigint) => Promise<RecordedEvent | undefined>;
  /** False when the event is not to be sent any more. */
  readonly isAwaited: (delivery: Delivery<RecordedEvent>) => boolean;
  /** Called before an event is sent. */
  readonly sending: (event: RecordedEvent, at: bigint) => void;
  /** Called instead when the source no longer shows the event. */
  readonly vanished: (at: bigint) => void;
  /** Stops deliveries to the consumer, or resumes them. */
  readonly stall: (isStalled: boolean) => void;
  readonly failed: (error: unknown) => void;
};

/** Makes the queue of a connection. */
export const deliveryQueue = (connection: ConsumerConnection, owner: DeliveryQueueOwner): DeliveryQueue => {
  const unsent: Delivery<RecordedEvent>[] = [];
  const sender = worker(async () => {
    const delivery = unsent.shift();
    if (delivery === undefined) {
      owner.stall(false);
      return false;
    }
    if (!owner.isAwaited(delivery)) return true;
    const event = delivery.content ?? (await owner.load(delivery.at));
    if (event === undefined) owner.vanished(delivery.at);
    else {
      owner.sending(event, delivery.at);
      await connection.send(event, delivery.retries);
    }
    return true;
  }, owner.failed);
  return {
    put: (delivery) => {
      unsent.push(delivery);
      if (unsent.length >= MAX_UNSENT) owner.stall(true);
      sender.wake();
    },
  };
};
