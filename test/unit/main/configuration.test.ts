import { describe, expect, it } from 'vitest';

import { configure } from '../../../services/main/configuration.js';

const given = (key: string, value: unknown) => configure([{ path: key.split('.'), value, origin: 'test' }]);

describe('the configuration', () => {
  it('has a default for everything', () => {
    expect(configure([])).toMatchObject({ grpc_port: 81, http_port: 80, insecure: false, abort: { timeout: 600_000 } });
  });

  it('takes the last of what is given, and reads text as what it stands for', () => {
    const both = [7, '8'].map((value) => ({ path: ['grpc_port'], value, origin: 'test' }));
    expect(configure(both).grpc_port).toBe(8);
    expect(given('abort.timeout', '1h30m').abort.timeout).toBe(5_400_000);
  });

  it.each([
    ['grpc_port', 'x', 'must be a port'],
    ['abort.timeout', 'soon', 'must be a duration'],
    ['domains', [], 'must not be empty'],
    ['projects.0', 'Not_An_Id', 'must be an id'],
    ['projects.0', { id: '-a', name: 'a' }, 'must be an id'],
    ['task_resources.limits.cpu', 'lots', 'must be a quantity'],
    ['nope', 1, 'is not a setting'],
  ])('says that %s cannot be %j, and where that came from', (key, value, why) => {
    const [path, element] = key.split('.0');
    const whole = element === undefined ? value : [value];
    expect(() => given(path ?? '', whole)).toThrow(`${key} (from test): ${why}`);
  });
});
