import { describe, expect, it, onTestFinished } from 'vitest';
import { configure } from '../../../services/config/configuration.js';
import { fromFile } from '../../../services/config/sources.js';
import { manifests } from '../../support/kubernetes/server.js';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const bridgeOf = (bridge: Readonly<Record<string, unknown>>) =>
  configure(Object.entries(bridge).map(([key, value]) => ({ path: ['bridge', key], value, origin: 'test' }))).bridge;

describe('the settings of a bridge', () => {
  it('name one cluster by default', () => {
    expect(bridgeOf({})).toMatchObject({
      clusters: [{ name: 'default', kubeconfig: '', context: '', labels: [], weight: 1 }],
      keep_finished: 600_000,
      finalizer_grace: 0,
    });
  });

  it.each([
    [{ clusters: [{ name: 'a' }, { name: 'a' }] }, 'bridge.clusters (from test): must not have one name twice'],
    [{ clusters: [] }, 'bridge.clusters (from test): must have a cluster'],
    [{ namespace_template: '{{ workflow }}' }, 'bridge.namespace_template (from test): must be a namespace'],
    [{ endpoint: 'here' }, 'bridge.endpoint (from test): must be HOST:PORT'],
    [{ name: 'a b' }, 'bridge.name (from test): must be the value of a label'],
    [{ capacity: 0 }, 'bridge.capacity (from test): must be 1 or more'],
    [{ event_version: 3 }, 'bridge.event_version (from test): must be 0, 1 or 2'],
  ])('are refused: %j', (bridge, message) => {
    expect(() => bridgeOf(bridge)).toThrow(message);
  });

  it('in the manifest of the deployment can be read', () => {
    const [settings] = manifests('deployment.yaml') as unknown as [{ readonly data: Readonly<Record<string, string>> }];
    const folder = mkdtempSync(join(tmpdir(), 'flightlog-bridge-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, 'flightlog.yaml');
    writeFileSync(file, settings.data['flightlog.yaml']!);
    expect(configure(fromFile(file)).bridge).toMatchObject({ endpoint: 'flightlog.flightlog:81', name: 'flightlog' });
  });
});
