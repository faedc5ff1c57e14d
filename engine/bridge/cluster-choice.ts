import { fnv32 } from '../walk/ids.js';

/** A cluster that executions may go to. */
export type ClusterChoice = {
  readonly name: string;
  /** The execution cluster labels that it takes. */
  readonly labels: readonly string[];
  /** Its share of the executions among the clusters that may take them; 0 takes none. */
  readonly weight: number;
};

const weightedOf = (choices: readonly ClusterChoice[], seed: string): ClusterChoice | undefined => {
  let rest =
    fnv32(seed) %
    Math.max(
      1,
      choices.reduce((sum, { weight }) => sum + weight, 0),
    );
  return choices.find(({ weight }) => (rest -= weight) < 0);
};

/**
 * Chooses the cluster of an execution by its label, and among several by weight; the same name gets the same cluster.
 * An execution without a label may go to any cluster; `undefined` when no cluster with a weight takes its label.
 */
export const chosenCluster = (
  choices: readonly ClusterChoice[],
  label: string,
  executionName: string,
): string | undefined => {
  const fitting = choices.filter(({ labels }) => label === '' || labels.includes(label));
  return weightedOf(fitting, executionName)?.name;
};
