import type { PayloadObject, PayloadObjects } from '../../kernel/ports/payload-objects.js';
import type { References } from './payload-references.js';

/** Contents of a store: numbers of objects, and their size in bytes; quarantined ones are included. */
export type StoreContents = {
  readonly objects: number;
  readonly bytes: number;
  /** Objects that the log refers to. */
  readonly named: number;
  /** Objects that the log refers to and that the store does not have. */
  readonly missing: number;
  /** Objects that the log does not refer to, and that are old enough to be removed. */
  readonly garbage: number;
};

/** Results of a sweep, in objects and bytes. */
export type SweepResult = {
  readonly removed: number;
  readonly removedBytes: number;
  /** Quarantined; a later sweep removes them. */
  readonly quarantined: number;
  /** Were quarantined, and restored because the log refers to them. */
  readonly restored: number;
};

type Sweeping = {
  readonly objects: PayloadObjects;
  readonly named: References;
  /** Objects put at or after this time are kept, in milliseconds since 1970; taken before the log was read. */
  readonly cutoffMs: number;
  readonly onProgress: (objects: number) => void;
};

const isGarbage = ({ path, touchedAtMs }: PayloadObject, { named, cutoffMs }: Sweeping): boolean =>
  touchedAtMs < cutoffMs && !named.has(path);

/** Counts the objects and those that a sweep would remove or quarantine; changes nothing. */
export const surveyPayloads = async (sweeping: Sweeping): Promise<StoreContents> => {
  const { objects, named: names, onProgress } = sweeping;
  const survey = { objects: 0, bytes: 0, named: 0, garbage: 0 };
  let found = 0;
  let last = '';
  for await (const page of objects.list()) {
    for (const object of page) {
      const isNamed = names.has(object.path);
      survey.objects += 1;
      survey.bytes += object.sizeBytes;
      if (isNamed) survey.named += 1;
      if (isNamed && object.path !== last) found += 1;
      if (isGarbage(object, sweeping)) survey.garbage += 1;
      last = object.path;
    }
    onProgress(survey.objects);
  }
  return { ...survey, missing: Math.max(0, names.size - found) };
};

/**
 * Drops objects that the log does not refer to and that were put before the cutoff: a folder removes them at once, a
 * bucket quarantines them first. Restores quarantined objects that the log refers to.
 *
 * An object is put before the event that refers to it is appended, which may be after the references were read. Such an
 * object is newer than the cutoff, and so kept, if its event follows it within the time from the cutoff to the reading.
 */
export const sweepPayloads = async (sweeping: Sweeping): Promise<SweepResult> => {
  const { objects, named, cutoffMs, onProgress } = sweeping;
  const swept = { removed: 0, removedBytes: 0, quarantined: 0, restored: 0 };
  let seen = 0;
  const settle = async (object: PayloadObject): Promise<void> => {
    if (object.quarantinedAs !== undefined && named.has(object.path)) {
      await objects.restore(object);
      swept.restored += 1;
    } else if (isGarbage(object, sweeping)) {
      const became = await objects.drop(object, cutoffMs);
      if (became === 'quarantined') swept.quarantined += 1;
      if (became !== 'removed') return;
      swept.removed += 1;
      swept.removedBytes += object.sizeBytes;
    }
  };
  for await (const page of objects.list()) {
    for (const object of page) await settle(object);
    seen += page.length;
    onProgress(seen);
  }
  return swept;
};
