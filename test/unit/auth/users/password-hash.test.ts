import { describe, expect, it } from 'vitest';

import { hashPassword, isPassword, isPasswordHash } from '../../../../services/auth/users/password-hash.js';

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

  it.each(['', 'plain', '$scrypt$ln=30,r=8,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAA'])('is not valid as %j', (text) => {
    expect(isPasswordHash(text)).toBe(false);
  });
});
