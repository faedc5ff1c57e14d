import type { RecordedEvent } from '../../kernel/event.js';
import { categoryOf } from '../../kernel/stream.js';
import { entityText } from './cloud-events/stream-attributes.js';

/** Selects events: the position range and all filters have to match. */
export type EventSelection = {
  /** First and last position, both inclusive. */
  readonly from: bigint;
  readonly to: bigint;
  readonly filters: readonly EventCondition[];
};

/** Fields of a filter: `entity` matches the key of the message, or a prefix of it that ends before a slash. */
export const FILTER_FIELDS = ['category', 'type', 'stream', 'entity'] as const;
export type EventCondition = { readonly field: (typeof FILTER_FIELDS)[number]; readonly value: string };

const matches = ({ stream, type }: RecordedEvent, { field, value }: EventCondition): boolean => {
  if (field === 'category') return categoryOf(stream) === value;
  if (field === 'type') return type === value;
  if (field === 'stream') return stream === value;
  const entity = entityText(stream);
  return entity === value || entity.startsWith(`${value}/`);
};

/** True when an event is selected. */
export const isSelected = (event: RecordedEvent, { from, to, filters }: EventSelection): boolean =>
  event.position >= from && event.position <= to && filters.every((filter) => matches(event, filter));
