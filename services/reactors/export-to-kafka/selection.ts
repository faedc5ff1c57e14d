import type { RecordedEvent } from '../../kernel/event.js';
import { categoryOf } from '../../kernel/stream.js';
import { entityOf } from './subject.js';

/** Which events are wanted: everything that is said has to match. */
export type Selection = {
  /** The first and the last position, both included. */
  readonly from: bigint;
  readonly to: bigint;
  readonly filters: readonly Filter[];
};

/** What can be asked of an event: `entity` is what the key begins with. */
export const FILTER_FIELDS = ['category', 'type', 'stream', 'entity'] as const;
export type Filter = { readonly field: (typeof FILTER_FIELDS)[number]; readonly value: string };

const matches = ({ stream, type }: RecordedEvent, { field, value }: Filter): boolean => {
  if (field === 'category') return categoryOf(stream) === value;
  if (field === 'type') return type === value;
  if (field === 'stream') return stream === value;
  const entity = entityOf(stream);
  return entity === value || entity.startsWith(`${value}/`);
};

/** Whether an event is wanted. */
export const isSelected = (event: RecordedEvent, { from, to, filters }: Selection): boolean =>
  event.position >= from && event.position <= to && filters.every((filter) => matches(event, filter));
