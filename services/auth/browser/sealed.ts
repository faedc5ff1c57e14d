import { EncryptJWT, errors, type JWTPayload, jwtDecrypt } from 'jose';

/** The purpose of a sealed text; a text that was sealed for one purpose cannot be opened for another. */
export type Purpose = 'session' | 'sign-in';

/** Encrypts and decrypts the content of cookies, so that browsers can neither read nor change it. */
export interface Sealer {
  /**
   * Encrypts a content.
   *
   * @param expiresAt in milliseconds since 1970.
   */
  seal(purpose: Purpose, content: Readonly<Record<string, string>>, expiresAt: number): Promise<string>;
  /**
   * Decrypts a sealed text.
   *
   * @returns `undefined` for a text that has expired, has another purpose, or was not sealed with this key.
   */
  open(purpose: Purpose, sealed: string): Promise<JWTPayload | undefined>;
}

const MS = 1_000;

/** Makes a sealer from a key of 32 bytes; sealed texts are JWEs with AES-256 in Galois counter mode (RFC 7516). */
export const sealerWith = (key: Uint8Array, now: () => number): Sealer => ({
  seal: (purpose, content, expiresAt) =>
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
