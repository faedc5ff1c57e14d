import { describe, expect, it } from 'vitest';
import { chosenCluster } from '../../../../engine/bridge/cluster-choice.js';

const choices = [
  { name: 'small', labels: ['cpu'], weight: 1 },
  { name: 'large', labels: ['cpu', 'gpu'], weight: 3 },
  { name: 'closed', labels: ['cpu'], weight: 0 },
];
/** Names of executions. */
const names = Array.from({ length: 2_000 }, (_, index) => `a${index}`);
/** The number of these executions that are given to a cluster. */
const countOf = (label: string, cluster: string): number =>
  names.filter((name) => chosenCluster(choices, label, name) === cluster).length;

describe('the cluster of an execution', () => {
  it('is one with the label of the execution, and undefined when there is none', () => {
    expect(countOf('gpu', 'large')).toBe(names.length);
    expect(chosenCluster(choices, 'arm', 'a1')).toBeUndefined();
  });

  it('is chosen in proportion to the weights', () => {
    // `toBeCloseTo` with one digit: the shares differ by less than 0.05.
    expect(countOf('cpu', 'small') / names.length).toBeCloseTo(0.25, 1);
    expect(countOf('', 'large') / names.length).toBeCloseTo(0.75, 1);
    expect(countOf('cpu', 'closed')).toBe(0);
  });

  it('is the same for the same name of an execution', () => {
    expect(chosenCluster(choices, 'cpu', 'a1')).toBe(chosenCluster(choices, 'cpu', 'a1'));
  });
});
