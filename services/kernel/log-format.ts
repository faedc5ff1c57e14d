/**
 * The newest log format that this release writes; it reads all formats up to it. Events are written in the format that
 * is active in the log, so that processes of the previous release can read them during an upgrade.
 *
 * - 1: reports of engines on workflows, nodes and tasks share one event type, `EngineReported`.
 * - 2: they have one type each: `WorkflowPhaseReported`, `NodePhaseReported` and `TaskPhaseReported`. Leases of
 *   engines, dead letters and requests to retry parked streams are recorded.
 */
export const NEWEST_FORMAT = 2;

/** The first format with leases of engines: `WorkLeased`, `WorkReturned` and the sessions of engines. */
export const FORMAT_WITH_LEASES = 2;

/** The first format with dead letters of reactors. */
export const FORMAT_WITH_DEAD_LETTERS = 2;

/** The first format with requests to retry parked streams. */
export const FORMAT_WITH_RETRIES = 2;

/** Names a format in a text. An infinite one stands for a newer format whose number this release cannot read. */
export const formatText = (format: number): string =>
  Number.isFinite(format) ? `format ${format}` : 'a format that is newer';

/** The reason why this release must not write a log of a newer format. */
export const newerFormatText = (format: number): string =>
  `the log is written in ${formatText(format)}, and this release writes formats up to ${NEWEST_FORMAT}: run a newer release`;
