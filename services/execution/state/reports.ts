import type { EngineReport } from '../wire/engine-report.js';
import type { Envelope } from '../wire/envelope.js';

/**
 * An index of the reports in the stream: two numbers for each revision, so that 30,000 reports take half a megabyte.
 * The first is the revision of the previous report of the same entity, the second a hash of the report's phase, version
 * and time. A revision that is not a report has {@link NO_REVISION} and 0.
 */
export type Reports = { readonly reports: number[] };

/** The previous revision of an entity's first report: there is none. */
export const NO_REVISION = -1;

type Report = Pick<EngineReport & Envelope, 'phase' | 'phaseVersion' | 'occurredAt'>;

const mixed = (hash: number, value: number): number => {
  const product = Math.imul(hash ^ value, 0x85ebca6b);
  return product ^ (product >>> 15);
};

/** Equal reports have equal hashes. A collision costs only a comparison of the contents. */
const hashOf = ({ phase, phaseVersion, occurredAt }: Report): number => {
  const seconds = Number(occurredAt.seconds);
  const time = mixed(mixed(mixed(0, occurredAt.nanos), seconds), Math.floor(seconds / 2 ** 32));
  return mixed(mixed(time, phase), phaseVersion);
};

/** Adds a report at a revision to the index; `before` is the revision of the entity's previous report. */
export const addReport = ({ reports }: Reports, revision: number, before: number, report: Report): void => {
  while (reports.length < 2 * revision) reports.push(NO_REVISION, 0);
  reports.push(before, hashOf(report));
};

/**
 * Finds the reports of an entity that may have the same phase, version and time as an envelope. The search goes
 * backwards from `last`, the revision of the entity's last report, down to `from`. It misses none; a hash collision may
 * add one that differs.
 *
 * @returns the revisions, ascending; may be empty.
 */
export const similarReports = (
  { reports }: Reports,
  { last, from }: { readonly last: number; readonly from: number },
  envelope: Report,
): readonly bigint[] => {
  const wanted = hashOf(envelope);
  const found: bigint[] = [];
  for (let at = last; at >= from; at = reports[2 * at] ?? NO_REVISION)
    if (reports[2 * at + 1] === wanted) found.push(BigInt(at));
  return found.reverse();
};
