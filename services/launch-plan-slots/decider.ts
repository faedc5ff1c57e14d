import { create } from '@bufbuild/protobuf';
import { SlotReleasedSchema, SlotTakenSchema } from '../../proto/gen/platformidl/eventlog/launch_plan_slots_pb.js';
import type { Aggregate, Decider, Decision } from '../kernel/aggregate.js';
import type { ReleaseSlot, SlotsCommand, TakeSlot } from './commands.js';
import { SLOTS_CATEGORY, slotsCodec, type SlotsEvent } from './events.js';
import { evolveSlots, type Holder, holderKey, initialSlots, type SlotsState } from './state.js';
import type { ExecutionId } from '../kernel/execution-id.js';

export type SlotsRefusal = { readonly kind: 'limit-reached' };

type Verdict = Decision<SlotsEvent, SlotsRefusal>;

const NOTHING_TO_DO: Verdict = { kind: 'accepted', events: [] };

/** The slot of an execution, if it holds one. */
export const holderOf = ({ holders }: SlotsState, execution: ExecutionId): Holder | undefined =>
  holders.get(holderKey(execution));

/**
 * An execution holds at most one slot. When an earlier attempt to create the execution has taken it, that attempt keeps
 * it, and nothing is recorded.
 */
const take = ({ holders }: SlotsState, { execution, attempt, max, nowMs }: TakeSlot): Verdict => {
  if (holders.has(holderKey(execution))) return NOTHING_TO_DO;
  if (max !== undefined && holders.size >= max) return { kind: 'refused', refusal: { kind: 'limit-reached' } };
  const takenAt = { seconds: BigInt(Math.floor(nowMs / 1_000)) };
  return {
    kind: 'accepted',
    events: [{ type: 'SlotTaken', data: create(SlotTakenSchema, { execution, attempt, takenAt }) }],
  };
};

const release = (state: SlotsState, { execution, attempt }: ReleaseSlot): Verdict => {
  if (holderOf(state, execution)?.attempt !== attempt) return NOTHING_TO_DO;
  return {
    kind: 'accepted',
    events: [{ type: 'SlotReleased', data: create(SlotReleasedSchema, { execution, attempt }) }],
  };
};

const slotsDecider: Decider<SlotsState, SlotsCommand, SlotsEvent, SlotsRefusal> = {
  initial: initialSlots,
  evolve: evolveSlots,
  decide: (state, command) => (command.type === 'TakeSlot' ? take(state, command) : release(state, command)),
};

const STATE_BYTES = 200;
const HOLDER_BYTES = 400;

export const slotsAggregate: Aggregate<SlotsState, SlotsCommand, SlotsEvent, SlotsRefusal> = {
  category: SLOTS_CATEGORY,
  decider: slotsDecider,
  codec: slotsCodec,
  payloadScope: () => 'slots',
  isPermanentRefusal: () => false,
  sizeOf: ({ holders }) => STATE_BYTES + holders.size * HOLDER_BYTES,
};
