import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';

import { connectedCluster } from '../../../../engine/bridge/cluster/connected-cluster.js';

const home = mkdtempSync(join(tmpdir(), 'flightlog-home-'));
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(home, { recursive: true });
});

it('a bridge without a kubeconfig is refused, instead of calling a server on this machine for ever', () => {
  vi.stubEnv('HOME', home);
  vi.stubEnv('KUBECONFIG', '');
  const options = { name: 'default', madeBy: 'bridge', callTimeoutMs: 1_000, onFailure: () => undefined };
  expect(() => connectedCluster({ kubeconfig: '', context: '' }, options)).toThrow(/^there is no kubeconfig: /u);
});
