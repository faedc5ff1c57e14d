/**
 * The newest format of a log that this release writes; it reads all formats up to it. A log is written in the format
 * that is in force in it, so that processes of the release before can read what is recorded beside them.
 *
 * - 1: the reports of engines on workflows, nodes and tasks have one type, `EngineReported`.
 * - 2: they have a type each, `WorkflowPhaseReported`, `NodePhaseReported` and `TaskPhaseReported`.
 */
export const NEWEST_FORMAT = 2;
