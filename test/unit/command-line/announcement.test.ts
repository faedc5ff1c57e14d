import { describe, expect, it } from 'vitest';

import { addresses, announcement } from '../../../services/cli/announcement.js';
import { configure } from '../../../services/config/configuration.js';

const configured = (settings: Readonly<Record<string, unknown>>) =>
  configure(Object.entries(settings).map(([path, value]) => ({ path: [path], value, origin: 'test' })));

const SERVED = {
  grpc: '127.0.0.1:8081',
  http: 'http://127.0.0.1:8080',
  eventstore: '127.0.0.1:2113',
  data: '/data',
  logId: 'id',
};

const linesOf = (text: string): readonly string[] => text.split('\n').map((line) => line.trim());

describe('the announcement of a process that is ready', () => {
  it('has for people the address of each part and of the documentation, and how to stop the process', () => {
    expect(linesOf(announcement('text', configured({ insecure: true }), SERVED))).toEqual([
      expect.stringMatching(/^flightlog \S+ is ready \(all\), without authentication$/u),
      '',
      'page  http://127.0.0.1:8080/console',
      'gRPC  127.0.0.1:8081',
      'REST  http://127.0.0.1:8080/api/v1',
      'docs  http://127.0.0.1:8080/openapi',
      'log   esdb://127.0.0.1:2113?tls=false',
      'data  /data',
      '',
      'Ctrl-C stops.',
    ]);
  });

  it('is JSON for programs', () => {
    expect(JSON.parse(announcement('json', configured({}), { ...SERVED, executions: 3 }))).toEqual({
      ready: true,
      roles: ['all'],
      ...SERVED,
      executions: 3,
    });
  });

  it('says why the log is not served on its usual port', () => {
    const { eventstore: _, ...without } = SERVED;
    const taken = 'log   not served: port 2113 is in use; --eventstore-port names another';
    expect(linesOf(addresses(configured({}), { ...without, eventstoreProblem: 'is in use' }))).toContain(taken);
    expect(addresses(configured({ eventstore_mode: 'off' }), without)).not.toContain('log ');
  });

  it('has the health check and the data of a process without an API, and says whether the log is served with TLS', () => {
    const worker = configured({ role: ['projector'], event_store: 'esdb://log:2113' });
    expect(linesOf(addresses(worker, { http: 'http://[::1]:80', data: '/data', logId: 'id' }))).toEqual([
      'http  http://[::1]:80/readyz',
      'data  /data',
    ]);
    const secret = configured({ tls: { cert_file: 'a.pem', key_file: 'a.key' } });
    expect(addresses(secret, SERVED)).toContain('esdb://127.0.0.1:2113?tls=true');
  });
});
