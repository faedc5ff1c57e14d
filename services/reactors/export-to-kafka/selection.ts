import type { RecordedEvent } from '../../kernel/event.js';
import { categoryOf } from '../../kernel/stream.js';
import { entityOf } from './cloud-events/stream-attributes.js';

/** Selects events: the position range and all filters have to match. */
export type Selection = {
  /** First and last position, both inclusive. */
  readonly from: bigint;
  readonly to: bigint;
  readonly filters: readonly Filter[];
};

/** Fields of a filter: `entity` matches the key of the message, or a prefix of it that ends before a slash. */
export const FILTER_FIELDS = ['category', 'type', 'stream', 'entity'] as const;
export type Filter = { readonly field: (typeof FILTER_FIELDS)[number]; readonly value: string };

const matches = ({ stream, type }: RecordedEvent, { field, value }: Filter): boolean => {
  if (field === 'category') return categoryOf(stream) === value;
  if (field === 'type') return type === value;
  if (field === 'stream') return stream === value;
  const entity = entityOf(stream);
  return entity === value || entity.startsWith(`${value}/`);
};

/** True when an event is selected. */
export const isSelected = (event: RecordedEvent, { from, to, filters }: Selection): boolean =>
  event.position >= from && event.position <= to && filters.every((filter) => matches(event, filter));
