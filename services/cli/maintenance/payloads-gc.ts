import { resolve } from 'node:path';
import type { EventLog } from '../../kernel/ports/event-store.js';
import type { PayloadObjects } from '../../kernel/ports/payload-objects.js';
import { assertLogComplete } from '../../store/log/presence.js';
import { payloadReferences } from '../../store/payloads/payload-references.js';
import {
  type StoreContents,
  surveyPayloads,
  sweepPayloads,
  type SweepResult,
} from '../../store/payloads/sweep-payloads.js';
import type { Configuration } from '../../config/configuration.js';
import { logKey, logSource, openOwnLog } from '../../main/log/log-source.js';
import { codecs } from '../../main/models.js';
import { openPayloadObjects } from '../../main/payloads.js';
import { progressBar, throughLog } from '../progress-bar.js';
import { printSummary, secondsSince } from '../summary.js';
import { OperatorError, forSetting } from '../../config/operator-errors.js';

/** The flags of `payloads gc`. */
export type GarbageFlags = {
  /** In milliseconds. */
  readonly olderThan: number;
  readonly dryRun: boolean;
  readonly foreign?: readonly string[];
};

/** In milliseconds. An event refers to a new payload well before this, also when the store or the log is slow. */
const LEAST_AGE_MS = 3_600_000;

/** The least age; tests set a shorter one, because they cannot wait for an hour. */
const leastAge = (): number => Number(process.env['FLIGHTLOG_TEST_GC_LEAST_AGE_MS'] ?? LEAST_AGE_MS);

const assertAge = (olderThan: number): void => {
  if (olderThan >= leastAge()) return;
  throw new OperatorError('--older-than must be an hour or more: a payload is put before the event that names it');
};

/** Refuses a log that `log copy` has not finished: the events that it lacks name payloads, too. */
const assertWhole = (configuration: Configuration): void => {
  const directory = resolve(configuration.data);
  if (logSource({ directory, eventStore: configuration.event_store }).kind === 'embedded') assertLogComplete(directory);
};

/** Refuses a store with garbage and without any payload of this log: it seems to belong to another log. */
const assertOurs = ({ named, garbage }: StoreContents): void => {
  if (named > 0 || garbage === 0) return;
  throw new OperatorError(
    'nothing is removed: none of the payloads is named by this log, so they seem to be of another (see --data, --event-store and --payload-store)',
  );
};

const NOTHING: SweepResult = { removed: 0, removedBytes: 0, quarantined: 0, restored: 0 };

type Bar = ReturnType<typeof progressBar>;

/** Reads the log first: payloads that it refers to are kept, and payloads put later are younger than the cutoff. */
const swept = async (
  log: EventLog,
  objects: PayloadObjects,
  { olderThan, dryRun, foreign = [] }: GarbageFlags,
  bar: Bar,
): Promise<StoreContents & SweepResult & { readonly position: number }> => {
  const cutoffMs = Date.now() - olderThan;
  const readTo = (position: bigint, head: bigint): void => bar.show(throughLog({ phase: 'read', position, head }));
  const named = await payloadReferences({ log, codecs, foreign: new Set(foreign), onProgress: readTo });
  const sweeping = { objects, named, cutoffMs };
  const survey = await surveyPayloads({ ...sweeping, onProgress: () => undefined });
  assertOurs(survey);
  const onProgress = (count: number): void =>
    bar.show({ phase: 'sweep', done: count, total: survey.objects, detail: `${count} payloads` });
  const done = dryRun ? NOTHING : await sweepPayloads({ ...sweeping, onProgress });
  return { position: Number(named.position), ...survey, ...done };
};

/**
 * Removes payloads that no event refers to and that are old enough, and prints the counts as one JSON object; with
 * `dryRun` it only counts. In a bucket they are quarantined first, and removed by a later run; a quarantined payload to
 * which an event refers is restored. Servers may run meanwhile.
 *
 * @throws {Fault} when the log or the payload store fails, or the type of an event is unknown here.
 * @throws {OperatorError} when the age is too short, the log or the payload store cannot be opened, the log is an
 * unfinished copy, or the store seems to belong to another log.
 */
export const collectGarbage = async (configuration: Configuration, flags: GarbageFlags): Promise<void> => {
  assertAge(flags.olderThan);
  const started = performance.now();
  const { data, payload_store: location } = configuration;
  const log = await forSetting(logKey(configuration), () => {
    assertWhole(configuration);
    return openOwnLog(configuration);
  });
  const bar = progressBar();
  let objects: PayloadObjects | undefined;
  try {
    objects = await forSetting('payload_store', () => openPayloadObjects({ directory: resolve(data), location }));
    const { quarantined, ...counts } = await swept(log, objects, flags, bar);
    bar.stop();
    printSummary({ ...counts, setAside: quarantined, dryRun: flags.dryRun, seconds: secondsSince(started) });
  } finally {
    bar.stop();
    await objects?.close();
    await log.close();
  }
};
