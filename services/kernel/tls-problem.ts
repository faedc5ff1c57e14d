/** Advice to the operator when the connection to a server fails at TLS. */
export type TlsAdvice = {
  /** The server does not speak TLS. */
  readonly plain: string;
  /** The certificate of the server is not trusted. */
  readonly untrusted: string;
};

// Texts of OpenSSL, and of Node.js for names that do not match, as drivers pass them on.
const PLAIN = /wrong version number|packet length too long/;
const UNTRUSTED =
  /self-signed certificate|unable to (?:verify the first|get (?:local )?issuer) certificate|certificate has expired|does not match certificate's altnames/;

/** Describes the TLS problem in a driver's error, and what to change; `undefined` when the error has another cause. */
export const tlsProblem = (text: string, { plain, untrusted }: TlsAdvice): string | undefined => {
  if (PLAIN.test(text)) return `the server does not speak TLS: ${plain}`;
  const [reason] = UNTRUSTED.exec(text) ?? [];
  return reason === undefined ? undefined : `the certificate of the server is not trusted (${reason}): ${untrusted}`;
};
