import type { EngineReport } from '../wire/engine-report.js';
import type { Envelope } from '../wire/envelope.js';

/**
 * Where each report stands in the stream: two numbers for each revision, so that 30,000 reports take half a megabyte.
 * The first is the revision of the entity's report before it, the second a hash of the phase, version and time that it
 * has. What is no report has {@link NONE} and 0.
 */
export type Reports = { readonly reports: number[] };

/** Before the first report of an entity. */
export const NONE = -1;

type Report = Pick<EngineReport & Envelope, 'phase' | 'phaseVersion' | 'occurredAt'>;

const mixed = (hash: number, value: number): number => {
  const product = Math.imul(hash ^ value, 0x85ebca6b);
  return product ^ (product >>> 15);
};

/** Equal reports have the same; different ones that have the same cost a look at both. */
const hashOf = ({ phase, phaseVersion, occurredAt }: Report): number => {
  const seconds = Number(occurredAt.seconds);
  const time = mixed(mixed(mixed(0, occurredAt.nanos), seconds), Math.floor(seconds / 2 ** 32));
  return mixed(mixed(time, phase), phaseVersion);
};

/** Takes note of a report at a revision, after the entity's report at `before`. */
export const noteReport = ({ reports }: Reports, revision: number, before: number, report: Report): void => {
  while (reports.length < 2 * revision) reports.push(NONE, 0);
  reports.push(before, hashOf(report));
};

/**
 * The revisions, ascending and from `from` on, of an entity's reports that may have the phase, version and time of an
 * envelope; none of those that are left out has. `last` is the revision of its last report.
 */
export const alikeReports = (
  { reports }: Reports,
  { last, from }: { readonly last: number; readonly from: number },
  envelope: Report,
): readonly bigint[] => {
  const wanted = hashOf(envelope);
  const found: bigint[] = [];
  for (let at = last; at >= from; at = reports[2 * at] ?? NONE)
    if (reports[2 * at + 1] === wanted) found.push(BigInt(at));
  return found.reverse();
};
