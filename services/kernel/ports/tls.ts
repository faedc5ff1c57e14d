/** The certificate and key of a server, and the authority of its clients, each in PEM. */
export type Tls = {
  readonly cert: Buffer;
  readonly key: Buffer;
  /** If given, clients must present a certificate of this authority. */
  readonly clientCa?: Buffer;
};

/** Certificates that may be replaced while servers use them. */
export interface TlsSource {
  readonly current: Tls;
  /** Calls `listener` with each later replacement; open connections keep what they began with. */
  onChange(listener: (tls: Tls) => void): void;
}
