import type { PayloadObject, PayloadObjects } from '../../kernel/ports/payload-objects.js';
import type { References } from './payload-references.js';

/** What is in a store, by whether the log names it. Counts of objects, those aside included. */
export type Survey = {
  readonly objects: number;
  readonly bytes: number;
  /** Objects that the log names. */
  readonly named: number;
  /** What the log names and is nowhere. */
  readonly missing: number;
  /** Not named, and old enough to go. */
  readonly garbage: number;
};

/** What a sweep has done, in objects and bytes. */
export type Swept = {
  readonly removed: number;
  readonly removedBytes: number;
  /** To be removed by a later sweep. */
  readonly setAside: number;
  /** Had been set aside, and are named after all. */
  readonly restored: number;
};

type Sweeping = {
  readonly objects: PayloadObjects;
  readonly named: References;
  /** What was put since then stays, in milliseconds since 1970; taken before the log was read. */
  readonly cutoffMs: number;
  readonly onProgress: (objects: number) => void;
};

const isGarbage = ({ path, touchedAtMs }: PayloadObject, { named, cutoffMs }: Sweeping): boolean =>
  touchedAtMs < cutoffMs && !named.has(path);

/** Counts what is there and what would go; changes nothing. */
export const surveyPayloads = async (sweeping: Sweeping): Promise<Survey> => {
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
 * Removes what the log does not name and was put before the cutoff, and puts back what is aside and named.
 *
 * What is put while this runs is safe as long as an event names it within the age after it was put: it is either younger
 * than the cutoff, or its name is among those read.
 */
export const sweepPayloads = async (sweeping: Sweeping): Promise<Swept> => {
  const { objects, named, cutoffMs, onProgress } = sweeping;
  const swept = { removed: 0, removedBytes: 0, setAside: 0, restored: 0 };
  let seen = 0;
  const settle = async (object: PayloadObject): Promise<void> => {
    if (object.aside !== undefined && named.has(object.path)) {
      await objects.restore(object);
      swept.restored += 1;
    } else if (isGarbage(object, sweeping)) {
      const became = await objects.drop(object, cutoffMs);
      if (became === 'set-aside') swept.setAside += 1;
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
