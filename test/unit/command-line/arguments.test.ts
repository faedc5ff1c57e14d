import { InvalidArgumentError } from 'commander';
import { describe, expect, it } from 'vitest';
import {
  hostAndPort,
  logPosition,
  oneOrMore,
  pastTime,
  position,
  time,
  wholeNumber,
} from '../../../services/cli/arguments.js';

describe('a number of a flag', () => {
  it('is at most what the fields of requests hold', () => {
    expect(wholeNumber('4294967295')).toBe(4_294_967_295);
    expect(() => oneOrMore('4294967296')).toThrow('It must be at most 4294967295.');
  });

  it('is at most the largest position, where it is a position', () => {
    expect(position('9223372036854775807')).toBe(9_223_372_036_854_775_807n);
    for (const parse of [position, logPosition])
      expect(() => parse('9223372036854775808')).toThrow('It must be at most 9223372036854775807.');
  });
});

describe('an address of a flag', () => {
  it('has a port from 1 to 65535', () => {
    for (const text of ['127.0.0.1:8081', '[::1]:65535']) expect(hostAndPort(text)).toBe(text);
    for (const text of ['127.0.0.1', ':8081', 'host:', 'host:x'])
      expect(() => hostAndPort(text)).toThrow('It must be HOST:PORT.');
    for (const text of ['host:65536', 'host:0'])
      expect(() => hostAndPort(text)).toThrow('Its port must be from 1 to 65535.');
  });
});

describe('a time of a flag', () => {
  it('has its zone, unless it is a date', () => {
    expect(time('2026-03-02T10:58:16+01:00')).toBe(Date.UTC(2026, 2, 2, 9, 58, 16));
    expect(time('2026-03-02')).toBe(Date.UTC(2026, 2, 2));
    const others = ['5', 'March 2', '2026-03-02 09:58', '2026-03-02T09:58:16', '2026-99-99', '2026-02-30', ''];
    for (const text of [...others, '2026-01-31T24:00:00Z']) expect(() => time(text)).toThrow(InvalidArgumentError);
  });

  it('may be a duration before now for a flag that takes a past time, which is never before 1970', () => {
    const HOUR_AND_A_HALF_MS = 5_400_000;
    const before = Date.now() - HOUR_AND_A_HALF_MS;
    expect(pastTime('1h30m')).toBeGreaterThanOrEqual(before);
    expect(pastTime('1h30m')).toBeLessThanOrEqual(Date.now() - HOUR_AND_A_HALF_MS);
    expect([pastTime('999999d'), pastTime('0001-01-01')]).toEqual([0, 0]);
    expect(() => pastTime('March 2')).toThrow('or how long ago, such as 15m');
  });
});
