import type { Elements } from './elements.js';

/** The phases of the nodes that have been reported, by the id of the node in the workflow. */
export type Phases = ReadonlyMap<string, string>;

/** A workflow as a graph, and the state of an execution of it. */
export type ShownWorkflow = {
  readonly elements: Elements;
  readonly phases: Phases | undefined;
  readonly chosen: string | undefined;
};
