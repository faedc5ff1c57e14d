import { describe, expect, it } from 'vitest';

import { eventstoreAddress } from '../../../services/store/eventstore/address.js';

describe('the address of an event store', () => {
  it.each([
    ['esdb://log', [{ host: 'log', port: 2113 }], true],
    ['esdb://log:2114?tls=false', [{ host: 'log', port: 2114 }], false],
    ['kurrentdb://user:secret@log:1/?tls=false&nodePreference=follower', [{ host: 'log', port: 1 }], false],
    ['esdb+discover://logs.example.com', [{ host: 'logs.example.com', port: 2113 }], true],
    [
      'esdb://a:1,b:2,c?keepAliveInterval=500',
      [
        { host: 'a', port: 1 },
        { host: 'b', port: 2 },
        { host: 'c', port: 2113 },
      ],
      true,
    ],
  ])('is read: %s', (text, hosts, tls) => {
    expect(eventstoreAddress(text)).toMatchObject({ hosts, tls });
  });

  it('has the user, and whether its host name stands for all nodes of a cluster', () => {
    expect(eventstoreAddress('esdb+discover://us%3Aer:se%40cret@logs?tls=false')).toEqual({
      hosts: [{ host: 'logs', port: 2113 }],
      isDiscovered: true,
      tls: false,
      user: { username: 'us:er', password: 'se@cret' },
      parameters: new Map([['tls', 'false']]),
    });
  });

  it('may name the file of its certificate authority', () => {
    expect(eventstoreAddress('esdb://log?tlsCAFile=%2Fetc%2Fca.pem')).toMatchObject({ authority: '/etc/ca.pem' });
    expect(eventstoreAddress('esdb://log?tlsCAFile=/ca=1.pem')).toMatchObject({ authority: '/ca=1.pem' });
  });

  it.each([
    ['http://log:2113', 'must be esdb://HOST:PORT, with ?tls=false where the server has no TLS, or embedded:'],
    ['esdb://', 'must be esdb://HOST:PORT, with ?tls=false where the server has no TLS, or embedded:'],
    ['esdb://log:port', 'names no HOST:PORT: "log:port"'],
    ['esdb://log:0', 'names no HOST:PORT: "log:0"'],
    ['esdb://log:65536', 'names no HOST:PORT: "log:65536"'],
    ['esdb://a,,b', 'names no HOST:PORT: ""'],
    ['esdb://log?tls=maybe', 'has an invalid tls "maybe": it must be true or false'],
    ['esdb://log?tlsVerifyCert=false', 'has an invalid tlsVerifyCert "false": it must be true'],
    [
      'esdb://log?keepAliveTimeout=soon',
      'has an invalid keepAliveTimeout "soon": it must be a whole number from 0, or -1 for none',
    ],
    ['esdb://a,b?maxDiscoverAttempts=-1', 'has an invalid maxDiscoverAttempts "-1": it must be a whole number above 0'],
    [
      'esdb://a,b?nodePreference=any',
      'has an invalid nodePreference "any": it must be leader, follower, read_only_replica or random',
    ],
    ['esdb://log?defaultDeadline=0', 'has an invalid defaultDeadline "0": it must be a whole number above 0'],
    ['esdb://us%er:secret@log', 'has credentials that are not percent-encoded'],
    ['esdb://log?tlsCAFile=%E0%A4%A', 'has an invalid tlsCAFile "%E0%A4%A": it must be a path, percent-encoded'],
  ])('is refused with the reason: %s', (text, reason) => {
    expect(eventstoreAddress(text)).toBe(reason);
  });

  it('is refused for a parameter that the client library would ignore, without repeating credentials', () => {
    const reason = eventstoreAddress('esdb://user:secret@log?tsl=false');
    expect(reason).toMatch(/^has an unknown parameter "tsl"; there are connectionName, .*, userKeyFile$/u);
    expect(reason).not.toContain('secret');
  });

  it.each(['esdb://user:sec?ret@log', 'esdb://log?user:secret@log'])('does not repeat a part of %s', (text) => {
    expect(eventstoreAddress(text)).toMatch(/^must be esdb:..HOST:PORT, with [^@]* embedded:$/u);
  });
});
