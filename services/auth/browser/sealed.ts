import { EncryptJWT, errors, type JWTPayload, jwtDecrypt } from 'jose';

/** The use of a sealed text; a text that was sealed for one use does not open for another. */
export type Purpose = 'session' | 'sign-in';

/** Encrypts what a browser keeps for this server, so that browsers can neither read nor change it. */
export interface Sealer {
  /** @param expiresAt in milliseconds since 1970. */
  close(purpose: Purpose, content: Readonly<Record<string, string>>, expiresAt: number): Promise<string>;
  /** @returns `undefined` for a text that has expired, has another purpose, or was not sealed with this key. */
  open(purpose: Purpose, sealed: string): Promise<JWTPayload | undefined>;
}

const MS = 1_000;

/** Seals with a key of 32 bytes, as JWE with AES-256 in Galois counter mode (RFC 7516). */
export const sealedWith = (key: Uint8Array, now: () => number): Sealer => ({
  close: (purpose, content, expiresAt) =>
    new EncryptJWT({ ...content })
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
      .setAudience(purpose)
      .setExpirationTime(Math.floor(expiresAt / MS))
      .encrypt(key),
  open: async (purpose, sealed) => {
    try {
      const options = { audience: purpose, requiredClaims: ['exp'], currentDate: new Date(now()) };
      return (await jwtDecrypt(sealed, key, options)).payload;
    } catch (error) {
      if (error instanceof errors.JOSEError || error instanceof TypeError) return undefined;
      throw error;
    }
  },
});
