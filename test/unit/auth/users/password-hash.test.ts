import { describe, expect, it } from 'vitest';

import { hashPassword, isPassword, isPasswordHash } from '../../../../services/auth/users/password-hash.js';

/** The parameters of scrypt with a small cost. */
const CHEAP = { ln: 4, r: 8, p: 1 };

describe('the hash of a password', () => {
  it('matches its password in another Unicode form too, and no other password; a second hash differs', async () => {
    const hash = await hashPassword('pa\u0308ssword of mine', CHEAP);
    expect(isPasswordHash(hash)).toBe(true);
    expect(await isPassword('p\u00e4ssword of mine', hash)).toBe(true);
    expect(await isPassword('password of mine', hash)).toBe(false);
    expect(await hashPassword('pa\u0308ssword of mine', CHEAP)).not.toBe(hash);
  });

  it('that is missing, as for an unknown user, matches no password', async () => {
    expect(await isPassword('', undefined)).toBe(false);
  });

  it.each(['', 'plain', '$scrypt$ln=4,r=8,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAA'])('is not valid as %j', (text) => {
    expect(isPasswordHash(text)).toBe(false);
  });

  it('is not valid when it takes more than 256 MiB of memory', () => {
    /** A well-formed hash, which takes 2 to the power of `ln` times 1 KiB. */
    const hashOf = (ln: number): string => `$scrypt$ln=${ln},r=8,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`;
    expect([isPasswordHash(hashOf(18)), isPasswordHash(hashOf(19))]).toEqual([true, false]);
  });
});
