import type { RecordedEvent } from '../../kernel/event.js';
import type { StreamName } from '../../kernel/stream.js';

/** Consecutive events of one stream, which are appended together. */
export type Batch = { readonly stream: StreamName; readonly events: RecordedEvent[]; bytes: number };

type GroupLimits = { readonly appends: number; readonly bytes: number };

/** A group ends with the append by which it reaches one of these. */
const MAX_GROUP: GroupLimits = { appends: 512, bytes: 16_000_000 };

type Appending = {
  /** Must pass the append on before it returns. */
  readonly append: (batch: Batch) => Promise<unknown>;
  /** Called with the position of the last event of each append, in order. */
  readonly onAppended: (position: bigint) => void;
  readonly limits?: GroupLimits;
};

async function* groupsOf(batches: AsyncIterable<Batch>, limits: GroupLimits): AsyncGenerator<readonly Batch[]> {
  let group: Batch[] = [];
  let bytes = 0;
  for await (const batch of batches) {
    group.push(batch);
    bytes += batch.bytes;
    if (group.length < limits.appends && bytes < limits.bytes) continue;
    yield group;
    group = [];
    bytes = 0;
  }
  if (group.length > 0) yield group;
}

const appendGroup = async (group: readonly Batch[], { append, onAppended }: Appending): Promise<void> => {
  const appends = group.map((batch) => ({ appended: append(batch), position: batch.events.at(-1)?.position ?? 0n }));
  const settled = Promise.allSettled(appends.map(({ appended }) => appended));
  try {
    for (const { appended, position } of appends) {
      await appended;
      onAppended(position);
    }
  } finally {
    await settled;
  }
};

/**
 * Appends batches in order, in groups. The embedded log commits a group in one transaction, because its appends begin
 * in one turn of the event loop; the next group waits for it. So a full disk leaves no gap before a later append.
 *
 * @throws the first failure, after all appends in flight are answered.
 */
export const appendInGroups = async (batches: AsyncIterable<Batch>, appending: Appending): Promise<void> => {
  let sending = Promise.resolve();
  try {
    for await (const group of groupsOf(batches, appending.limits ?? MAX_GROUP)) {
      await sending;
      sending = appendGroup(group, appending);
      sending.catch(() => undefined); // not unhandled: it is awaited before the next group, or below
    }
  } finally {
    await sending;
  }
};
