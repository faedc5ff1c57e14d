import { describe, expect, it } from 'vitest';

import { checkLimited, networkOf, signInLimits } from '../../../../services/auth/server/sign-in-limits.js';
import { hashPassword, isPassword } from '../../../../services/auth/users/password-hash.js';

describe('the network of an address', () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8:0:1:2:3:4:5', '2001:db8:0:1::/64'],
    ['2001:0DB8::1:ffff:0:0:1', '2001:db8:0:1::/64'],
    ['2001:db8::5', '2001:db8:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['192.0.2.7:50123', '192.0.2.7'],
    ['[2001:db8::5]:50123', '2001:db8:0:0::/64'],
    ['', ''],
    ['unknown', 'unknown'],
  ])('of %j is %j', (address, network) => expect(networkOf(address)).toBe(network));
});

/** The parameters of scrypt with a small cost. */
const CHEAP = { ln: 4, r: 8, p: 1 };

/**
 * Limits of 1 failed attempt in a minute for each name, and of 6 for each network; `take` gives the seconds to wait.
 */
const limits = () => {
  const limited = signInLimits(1, () => 0);
  return { take: (address: string | undefined, name?: string) => limited.take(address, name) };
};

describe('limits of failed attempts', () => {
  it('count all addresses of an IPv6 network together', () => {
    const { take } = limits();
    const waits = Array.from({ length: 7 }, (_, index) => take(`2001:db8::${index}`, `user-${index}`));
    expect(waits).toEqual([0, 0, 0, 0, 0, 0, 10]);
    expect(take('2001:db8:0:1::1', 'another')).toBe(0);
  });

  it('tell long names apart by their last letter, and count an attempt without an address for its name alone', () => {
    const { take } = limits();
    const long = 'x'.repeat(1_000_000);
    expect([take('::1', long), take('192.0.2.1', long), take(undefined, `${long.slice(1)}y`)]).toEqual([0, 60, 0]);
    expect(Array.from({ length: 10 }, (_, index) => take(undefined, `name-${index}`))).toEqual(Array(10).fill(0));
  });
});

describe('checks of passwords', () => {
  it('wait in a bounded queue; those beyond it are refused for 5 seconds, and are not counted as failures', async () => {
    const ACCEPTED = 52; // two checks run and 50 wait
    const REFUSED = 8;
    const FAILURES = 1_000; // allowed in a minute
    const hash = await hashPassword('right', CHEAP);
    const limited = signInLimits(FAILURES, () => 0);
    const check = () => checkLimited(limited, { name: 'ada', address: '::1' }, () => isPassword('right', hash));
    const checked = await Promise.all(Array.from({ length: ACCEPTED + REFUSED }, check));
    expect(checked.filter((each) => 'wait' in each)).toEqual(Array(REFUSED).fill({ wait: 5 }));
    const waits = Array.from({ length: FAILURES + 1 }, () => limited.take('::1', 'ada'));
    expect(waits.filter((wait) => wait === 0)).toHaveLength(FAILURES);
  });
});
