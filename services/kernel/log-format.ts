/**
 * The newest log format that this release writes; it reads all formats up to it. Events are written in the format that
 * is active in the log, so that processes of the previous release can read them during an upgrade.
 *
 * - 1: reports of engines on workflows, nodes and tasks share one event type, `EngineReported`.
 * - 2: they have one type each: `WorkflowPhaseReported`, `NodePhaseReported` and `TaskPhaseReported`.
 */
export const NEWEST_FORMAT = 2;
