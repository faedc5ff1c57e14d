/** A server by gRPC: `HOST:PORT`, without TLS or with it. */
export type GrpcAddress = {
  readonly kind: 'grpc';
  readonly target: string;
  readonly isPlain: boolean;
  readonly skipVerify: boolean;
  /** File of the certificates to trust, in PEM, in place of those that Node.js trusts. */
  readonly caFile?: string;
};

/** A server by REST: its URL. */
export type RestAddress = { readonly kind: 'rest'; readonly url: string };

/** The sign-in of a person: with a browser on this machine, or by typing a code into a browser on any machine. */
export type SignInFlow = 'browser' | 'device';

/** The way to get a token: one of a file or of an earlier sign-in is at hand; others are got when the server asks. */
export type SignIn =
  | { readonly kind: 'token-file'; readonly file: string }
  | { readonly kind: 'command'; readonly command: readonly string[] }
  /** A person signs in by `flightlog sign-in`; with a `flow`, any command starts the sign-in when it needs a token. */
  | { readonly kind: 'person'; readonly flow?: SignInFlow }
  | ClientCredentials;

export type ClientCredentials = {
  readonly kind: 'client-credentials';
  readonly clientId: string;
  readonly secretFile?: string;
  readonly secretVariable?: string;
  readonly scopes: readonly string[];
  readonly audience?: string;
  /** The token endpoint; by default the one that the server names. */
  readonly tokenUrl?: string;
};

/** The proxies between this machine and the server or its issuer of tokens. */
export type Proxy = {
  /** A command that prints a token for `proxy-authorization`. */
  readonly command?: readonly string[];
  /** The URL of the HTTP proxy in front of the issuer of tokens. */
  readonly issuerUrl?: string;
};

/** The retries of a unary gRPC call that got no answer, or one that says to try later. */
export type RetryPolicy = {
  /** The number of tries after the first one. */
  readonly retries: number;
  /** The time that one try may take, in milliseconds; over REST, the time for the call. */
  readonly tryMs: number;
  /** The longest pause between two tries, in milliseconds. */
  readonly maxPauseMs: number;
};

/** Settings of the channel of gRPC; without `maxMessageBytes`, an answer may have any size. */
export type ChannelSettings = { readonly serviceConfig?: string; readonly maxMessageBytes?: number };

/** The server of a command, and how to reach it and sign in there. */
export type Profile = {
  readonly address: GrpcAddress | RestAddress;
  readonly signIn: SignIn;
  /** The header of tokens, such as `authorization`. */
  readonly header: string;
  /** The base of the web console, where it is known. */
  readonly consoleUrl?: string;
  readonly proxy: Proxy;
  readonly retryPolicy: RetryPolicy;
  readonly channel: ChannelSettings;
};

/** The server of a profile in messages: its URL, or `HOST:PORT` of gRPC. */
export const serverOf = ({ address }: Pick<Profile, 'address'>): string =>
  address.kind === 'rest' ? address.url : address.target;

/** The flags of every command that talks to a server. */
export type ConnectionFlags = {
  readonly server?: string;
  readonly profile?: string;
  readonly tokenFile?: string;
};

/** The `HOST:PORT` of an endpoint such as `dns:///HOST`; the port is that of HTTP or, with TLS, of HTTPS by default. */
export const targetOf = (endpoint: string, isPlain: boolean): string => {
  const host = endpoint.replace(/^(?:dns|https?|grpcs?):\/+/u, '').replace(/\/$/u, '');
  return /:\d+$/u.test(host) ? host : `${host}:${isPlain ? 80 : 443}`;
};
