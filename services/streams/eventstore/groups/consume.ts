import {
  ReadReq_Nack_Action as Action,
  type ReadReq,
  type ReadReq_Options as Options,
  ReadReqSchema,
  ReadRespSchema,
} from '../../../../proto/gen/event_store/client/persistent_pb.js';
import type { UUID } from '../../../../proto/gen/event_store/client/values_pb.js';
import type { RecordedEvent } from '../../../kernel/event.js';
import type { EncodedCall, EncodedHandler } from '../../../kernel/ports/encoded-calls.js';
import { asError } from '../../../kernel/error-text.js';
import { invalid, missing } from '../../../kernel/rpc.js';
import { empty, encodedMessage } from '../codec.js';
import { type EventDataEncoder, protocolEvent } from '../recorded.js';
import { decodedRequest } from '../request-text.js';
import { type Shutdown, unlessSignalled } from '../shutdown.js';
import { uuidBytes, type UuidForm, uuidFormOf } from '../uuid.js';
import type { Refusal } from './delivery/delivery.js';
import { groupOf, type GroupName, groupKeyOf, groupSourceOf } from './group-name.js';
import type { GroupRegistry } from './groups.js';
import type { ConsumerConnection } from './delivery/delivery-queue.js';
import type { ConnectedConsumer } from './running-group.js';

/** The largest number of events in flight for a consumer, whatever it asks for. */
const MAX_BUFFER = 10_000;

const bufferOf = ({ bufferSize }: Options): number => {
  if (bufferSize < 1) throw invalid('options.buffer_size', 'must be above 0');
  return Math.min(bufferSize, MAX_BUFFER);
};

const nameIn = ({ streamOption, groupName }: Options): GroupName => ({
  source: groupSourceOf(streamOption),
  group: groupOf(groupName),
});

/** Encodes an event for a consumer. */
const delivery = async (
  event: RecordedEvent,
  retries: number,
  { form, present }: { readonly form: UuidForm; readonly present: EventDataEncoder },
): Promise<Buffer> => {
  const shown = await protocolEvent(event, form, present);
  const count =
    retries === 0
      ? ({ case: 'noRetryCount', value: empty } as const)
      : ({ case: 'retryCount', value: retries } as const);
  return encodedMessage(ReadRespSchema, { content: { case: 'event', value: { ...shown, count } } });
};

const idsOf = (ids: readonly UUID[]): readonly string[] =>
  ids.map((id) => Buffer.from(uuidBytes('ids', id)).toString('hex'));

const REFUSALS: Readonly<Record<Action, Refusal | undefined>> = {
  [Action.Unknown]: 'retry',
  [Action.Retry]: 'retry',
  [Action.Park]: 'park',
  [Action.Skip]: 'skip',
  // The consumer is about to disconnect: its events are retried then, or after their timeout.
  [Action.Stop]: undefined,
};

const answer = (consumer: ConnectedConsumer, { content }: ReadReq): void => {
  if (content.case === 'ack') consumer.acknowledge(idsOf(content.value.ids));
  else if (content.case === 'nack') {
    const refusal = REFUSALS[content.value.action];
    if (refusal) consumer.refuse(idsOf(content.value.ids), refusal, content.value.reason);
  } else throw invalid('content', 'one of ack and nack is needed after the options');
};

const firstOptions = (bytes: Buffer): Options => {
  const { content } = decodedRequest(ReadReqSchema, bytes);
  if (content.case !== 'options') throw missing('options');
  return content.value;
};

/** The groups of a server, and the format of their events. */
export type Consuming = {
  readonly groups: GroupRegistry;
  readonly present: EventDataEncoder;
};

/** Ignores a failed send: the call, whose client has disconnected, ends its consumer anyway. */
const sent = (sending: Promise<void>): Promise<void> => sending.catch(() => undefined);

const connectionOf = (
  call: EncodedCall,
  encoding: { readonly form: UuidForm; readonly present: EventDataEncoder },
  fail: (error: unknown) => void,
): ConsumerConnection => ({
  from: `${call.peer.address}:${call.peer.port}`,
  connectionName: call.header('connection-name') ?? '',
  send: async (event, retries) => sent(call.send(await delivery(event, retries, encoding))),
  fail,
});

/** Connects the consumer of a call. */
const connect = async (
  { groups, present }: Consuming,
  call: EncodedCall,
  options: Options,
  fail: (error: unknown) => void,
): Promise<ConnectedConsumer> => {
  const name = nameIn(options);
  const bufferSize = bufferOf(options);
  const running = await groups.running(name);
  const consumer = running.connect(
    connectionOf(call, { form: uuidFormOf(options.uuidOption), present }, fail),
    bufferSize,
  );
  // Before the first event: an event is encoded in a later turn.
  const subscriptionId = groupKeyOf(name);
  void sent(
    call.send(
      encodedMessage(ReadRespSchema, { content: { case: 'subscriptionConfirmation', value: { subscriptionId } } }),
    ),
  );
  return consumer;
};

/** Connects a consumer when its options arrive, and handles its answers until the call ends. */
const consume = (consuming: Consuming, call: EncodedCall): Promise<void> =>
  new Promise((resolve, reject) => {
    let consumer: ConnectedConsumer | undefined;
    let isOver = false;
    const end = (): void => {
      isOver = true;
      consumer?.disconnect();
      resolve();
    };
    const fail = (error: unknown): void => {
      reject(asError(error));
      end();
    };
    const takeAll = async (): Promise<void> => {
      for await (const bytes of call.requests()) {
        if (consumer) answer(consumer, decodedRequest(ReadReqSchema, bytes));
        else consumer = await connect(consuming, call, firstOptions(bytes), fail);
        if (isOver) consumer.disconnect();
        if (isOver) return;
      }
    };
    call.disconnected.addEventListener('abort', end, { once: true });
    takeAll().then(end, fail);
  });

/** Serves Read of persistent subscriptions. A shutdown ends consumers at once. */
export const consumeHandler =
  (consuming: Consuming, shutdown: Shutdown): EncodedHandler =>
  (call) =>
    unlessSignalled(consume(consuming, call), shutdown.begun);
