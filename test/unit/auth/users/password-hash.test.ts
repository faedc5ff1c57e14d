import { describe, expect, it } from 'vitest';

import { hashPassword, isPassword, isPasswordHash } from '../../../../services/auth/users/password-hash.js';

const CHEAP = { ln: 4, r: 8, p: 1 };

describe('the hash of a password', () => {
  it('is of that password alone, whatever its letters are made of', async () => {
    const hash = await hashPassword('pa\u0308ssword of mine', CHEAP);
    expect(isPasswordHash(hash)).toBe(true);
    expect(await isPassword('p\u00e4ssword of mine', hash)).toBe(true);
    expect(await isPassword('password of mine', hash)).toBe(false);
    expect(await hashPassword('pa\u0308ssword of mine', CHEAP)).not.toBe(hash);
  });

  it('is no password of a user that does not exist', async () => {
    expect(await isPassword('', undefined)).toBe(false);
  });

  it.each(['', 'plain', '$scrypt$ln=30,r=8,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAA'])('is not %j', (text) => {
    expect(isPasswordHash(text)).toBe(false);
  });
});
