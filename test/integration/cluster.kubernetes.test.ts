import { describe } from 'vitest';
import { kubeApiserver, startRealServer } from '../support/kubernetes/real.js';
import { bridgeContract } from '../contract/kubernetes/bridge.contract.js';
import { clusterContract } from '../contract/kubernetes/cluster.contract.js';

describe.skipIf(kubeApiserver === undefined)('Kubernetes', () => {
  clusterContract('a real Kubernetes API server', startRealServer);
  bridgeContract('a real Kubernetes API server', startRealServer);
});
