import type { SlotsEvent } from './events.js';
import type { ExecutionId } from '../kernel/execution-id.js';

/**
 * The holder of a slot: the execution, the id of the attempt to create it that took the slot, and the time since when,
 * in milliseconds since 1970.
 */
export type Holder = { readonly execution: ExecutionId; readonly attempt: string; readonly sinceMs: number };

/** The slots that are held, by execution. */
export type SlotsState = { readonly holders: Map<string, Holder> };

export const initialSlots = (): SlotsState => ({ holders: new Map() });

export const holderKey = ({ project, domain, name }: ExecutionId): string => JSON.stringify([project, domain, name]);

export const evolveSlots = (state: SlotsState, { type, data }: SlotsEvent): SlotsState => {
  const { project = '', domain = '', name = '' } = data.execution ?? {};
  const execution = { project, domain, name };
  if (type === 'SlotReleased') state.holders.delete(holderKey(execution));
  else {
    const sinceMs = Number(data.takenAt?.seconds ?? 0n) * 1_000;
    state.holders.set(holderKey(execution), { execution, attempt: data.attempt, sinceMs });
  }
  return state;
};
