import type {
  WorkAccept,
  WorkHeartbeat,
  WorkLease,
  WorkReject,
  WorkRequest,
} from '../../../proto/gen/platformidl/eventlog/engine_work_pb.js';
import { executionStream } from '../../kernel/execution-id.js';
import { invalid } from '../../kernel/rpc.js';
import { placesOf } from './joined.js';
import { leaseOf, type HeldLease, type WorkLeases } from './ports.js';
import { type JoinedEngine, unsentLaunches } from './work-offers.js';

/** The services that the handler of an engine's messages uses. */
export type MessageServices = {
  readonly leases: WorkLeases;
  /** Milliseconds since the start of the process, by a clock that cannot be set. */
  readonly steadyMs: () => number;
  /** Offers executions to engines; called when an engine has reported its free capacity. */
  readonly distribute: () => void;
  /** Renews the leases of an engine, and answers its heartbeat. */
  readonly renew: (engine: JoinedEngine, heartbeat: WorkHeartbeat) => Promise<void>;
  /** Ends the session of an engine. */
  readonly leave: (engine: JoinedEngine) => Promise<void>;
};

const OK = 0;
const FAILED_PRECONDITION = 9;

const lostText = 'the engine does not hold this lease';

/**
 * Reads the lease that a message names in a field.
 *
 * @throws {RpcError} INVALID_ARGUMENT when the message names none.
 */
export const namedLease = (
  lease: WorkLease | undefined,
  { id }: Pick<JoinedEngine, 'id'>,
  field = 'lease',
): HeldLease => {
  if (lease?.execution === undefined) throw invalid(`${field}.execution`, 'it is not set');
  const { project, domain, name } = lease.execution;
  return { id: { project, domain, name }, number: Number(lease.number), session: id.session };
};

type LeaseMessage = { readonly lease?: WorkLease | undefined };

/** Handles the messages of an engine after its first. Callers await each message before they pass the next. */
export const engineMessages = ({ leases, steadyMs, distribute, renew, leave }: MessageServices) => {
  const holds = (engine: JoinedEngine, { id, number }: HeldLease): boolean =>
    engine.held.get(executionStream(id))?.number === number;

  const answer = ({ sendQueue }: JoinedEngine, lease: HeldLease, isHeld: boolean): void =>
    sendQueue.send({
      case: 'answer',
      value: { lease: leaseOf(lease), ...(isHeld ? { code: OK } : { code: FAILED_PRECONDITION, message: lostText }) },
    });

  /** Ends a lease as the engine asks, and answers the engine. */
  const end = async (
    engine: JoinedEngine,
    message: LeaseMessage,
    record: (lease: HeldLease) => Promise<boolean>,
  ): Promise<void> => {
    const lease = namedLease(message.lease, engine);
    const isHeld = holds(engine, lease) && (await record(lease));
    if (isHeld) engine.held.delete(executionStream(lease.id));
    answer(engine, lease, isHeld);
  };

  /** Gives a lease back for another engine; while it stays connected, this one is not offered the execution again. */
  const giveBack = (engine: JoinedEngine, lease: HeldLease, reason: string): Promise<boolean> => {
    engine.rejected.add(executionStream(lease.id));
    return leases.giveBack(lease, reason);
  };

  const rejected =
    (engine: JoinedEngine, { reason, then }: WorkReject) =>
    (lease: HeldLease) => {
      if (then.case === 'fail') return leases.fail(lease, engine.producerId, then.value);
      return giveBack(engine, lease, reason);
    };

  const accept = (engine: JoinedEngine, message: WorkAccept): void => {
    const lease = namedLease(message.lease, engine);
    answer(engine, lease, holds(engine, lease));
  };

  return async (engine: JoinedEngine, { message }: WorkRequest): Promise<void> => {
    engine.seenAtMs = steadyMs();
    switch (message.case) {
      case 'accept':
        accept(engine, message.value);
        return undefined;
      case 'reject':
        return end(engine, message.value, rejected(engine, message.value));
      case 'return':
        return end(engine, message.value, (lease) => giveBack(engine, lease, message.value.reason));
      case 'heartbeat':
        return renew(engine, message.value);
      case 'places':
        engine.free = placesOf(message.value.free) - unsentLaunches(engine);
        distribute();
        return undefined;
      case 'leave':
        return leave(engine);
      case 'join':
        throw invalid('message', 'an engine joins once in a stream');
      case undefined:
        throw invalid('message', 'it is not set');
    }
  };
};
