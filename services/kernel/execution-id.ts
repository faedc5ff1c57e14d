import { type StreamName, streamName } from './stream.js';

/** The category of the streams of executions, `execution-{project}:{domain}:{name}`. */
export const EXECUTION_CATEGORY = 'execution';

/** The id of an execution. The shape of `core.WorkflowExecutionIdentifier`. */
export type ExecutionId = { readonly project: string; readonly domain: string; readonly name: string };

/** The stream of an execution, its nodes and its tasks. */
export const executionStream = ({ project, domain, name }: ExecutionId): StreamName =>
  streamName(EXECUTION_CATEGORY, [project, domain, name]);

/** The id of an execution in error texts, in the words of FlyteAdmin. */
export const executionText = ({ project, domain, name }: ExecutionId): string =>
  `project:${JSON.stringify(project)} domain:${JSON.stringify(domain)} name:${JSON.stringify(name)}`;
