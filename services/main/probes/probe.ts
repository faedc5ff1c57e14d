import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

/** The address of a server that should answer. */
export type Address = {
  readonly host: string;
  readonly port: number;
  /** Absent where the connection does not use TLS. */
  readonly tls?: {
    /** Certificate authorities, in PEM; those of the platform where absent. */
    readonly authorities?: string | Buffer;
    /** True when the server's certificate is not verified. */
    readonly isTrusting?: boolean;
  };
};

/** A probe of one protocol: the first bytes to send, and a test of the answer. */
export type Greeting = {
  readonly protocol: string;
  /** The name of the protocol in a TLS handshake (ALPN), where it has one. */
  readonly alpn?: string;
  readonly bytes: Buffer;
  readonly isAnswer: (answer: Buffer) => boolean;
};

/**
 * The result of a probe: a server of the protocol (`right`), no answer yet (`absent`: it may still start), or an answer
 * of another protocol (`wrong`: waiting does not help).
 */
export type Answer = {
  readonly is: 'right' | 'absent' | 'wrong';
  readonly what: string;
  /** The problem with TLS, if that is the problem. */
  readonly tls?: 'spoken' | 'not spoken' | 'not trusted';
};

const ANSWER_TIMEOUT_MS = 2_000;
const SHOWN_BYTES = 24;

const NOT_TRUSTED =
  /^(?:CERT_|ERR_TLS_CERT_|(?:DEPTH_ZERO_)?SELF_SIGNED_CERT|UNABLE_TO_(?:VERIFY|GET_ISSUER)|HOSTNAME_MISMATCH)/u;
const NO_TLS = /wrong version number|packet length too long|unexpected message/u;

const TLS_ALERT = Buffer.from([0x15, 0x03]);
const HTTP2_SETTINGS = 4;

const ofError = ({ code = '', message }: NodeJS.ErrnoException): Answer => {
  if (NOT_TRUSTED.test(code))
    return { is: 'wrong', what: `has a certificate that is not trusted here (${message})`, tls: 'not trusted' };
  if (NO_TLS.test(message)) return { is: 'wrong', what: 'does not speak TLS', tls: 'not spoken' };
  if (code === 'ECONNRESET') return { is: 'absent', what: 'ends connections without an answer' };
  return { is: 'absent', what: `cannot be reached (${code === '' ? message : code})` };
};

const isText = (bytes: Buffer): boolean => bytes.every((byte) => byte >= 0x20 && byte < 0x7f);

const beginning = (bytes: Buffer): string | undefined => {
  const line = bytes.toString('latin1').split(/[\r\n]/u, 1)[0] ?? '';
  const shown = Buffer.from(line.slice(0, SHOWN_BYTES), 'latin1');
  return shown.length > 0 && isText(shown) ? shown.toString() : undefined;
};

const isSettings = (bytes: Buffer): boolean => bytes.length >= 9 && bytes[3] === HTTP2_SETTINGS && bytes[0] === 0;

const ofBytes = (bytes: Buffer, { isAnswer }: Greeting): Answer => {
  if (isAnswer(bytes)) return { is: 'right', what: 'answers' };
  if (bytes.subarray(0, 2).equals(TLS_ALERT)) return { is: 'wrong', what: 'speaks TLS', tls: 'spoken' };
  const said = beginning(bytes);
  if (said?.startsWith('HTTP/1.') === true) return { is: 'wrong', what: 'speaks HTTP/1.1' };
  if (isSettings(bytes)) return { is: 'wrong', what: 'speaks HTTP/2' };
  const how = said === undefined ? '' : `, which begins with ${JSON.stringify(said)}`;
  return { is: 'wrong', what: `speaks another protocol${how}` };
};

const opened = ({ host, port, tls }: Address, { alpn }: Greeting): Socket => {
  if (!tls) return connect({ host, port });
  const { authorities, isTrusting = false } = tls;
  return connectTls({
    host,
    port,
    rejectUnauthorized: !isTrusting,
    ...(authorities !== undefined && { ca: authorities }),
    ...(alpn !== undefined && { ALPNProtocols: [alpn] }),
  });
};

/** Connects, sends the greeting, and judges the answer. */
const probe = (place: Address, greeting: Greeting): Promise<Answer> =>
  new Promise((resolve) => {
    const socket = opened(place, greeting);
    const found = (answer: Answer): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answer);
    };
    let isConnected = false;
    const silent = (): void => {
      const what = isConnected ? 'takes connections and says nothing' : 'cannot be reached (it does not answer)';
      found({ is: 'absent', what });
    };
    const timer = setTimeout(silent, ANSWER_TIMEOUT_MS);
    socket.once('connect', () => (isConnected = true));
    socket.once(place.tls ? 'secureConnect' : 'connect', () => socket.write(greeting.bytes));
    socket.once('data', (bytes) => found(ofBytes(bytes, greeting)));
    socket.on('error', (error) => found(ofError(error)));
    socket.once('close', () => found({ is: 'absent', what: 'ends connections without an answer' }));
  });

/** True for a server that accepts connections but sends nothing: it may speak another protocol. */
const isListening = ({ is, what }: Answer): boolean => is === 'absent' && !what.startsWith('cannot be reached');

const probeOthers = async (
  place: Address,
  greeting: Greeting,
  others: readonly Greeting[],
): Promise<Answer | undefined> => {
  const { tls, ...plain } = place;
  const otherwise: Address = tls ? plain : { ...plain, tls: { isTrusting: true } };
  const [turned, ...known] = await Promise.all([
    probe(otherwise, greeting),
    ...others.map((other) => probe(plain, other)),
  ]);
  if (turned.is === 'right')
    return tls
      ? { is: 'wrong', what: 'does not speak TLS', tls: 'not spoken' }
      : { is: 'wrong', what: 'speaks TLS', tls: 'spoken' };
  const at = known.findIndex(({ is }) => is === 'right');
  return at < 0 ? undefined : { is: 'wrong', what: `speaks ${others[at]?.protocol}` };
};

/** The finding where no address answers with the expected protocol. */
export type Finding = {
  readonly text: string;
  /** True when waiting does not help, because a server of another protocol is at every address. */
  readonly isFinal: boolean;
};

/** The expected protocol, others that may be there instead, and the advice for each problem with TLS. */
export type ExpectedProtocol = {
  readonly greeting: Greeting;
  readonly others: readonly Greeting[];
  readonly advice: Readonly<Record<NonNullable<Answer['tls']>, string>>;
};

/** Probes addresses of which one has to answer; `undefined` when one does, or when there is none. */
export const probeAddresses = async (
  places: readonly Address[],
  { greeting, others, advice }: ExpectedProtocol,
): Promise<Finding | undefined> => {
  const answers = await Promise.all(
    places.map(async (place) => {
      const answer = await probe(place, greeting);
      return isListening(answer) ? ((await probeOthers(place, greeting, others)) ?? answer) : answer;
    }),
  );
  if (answers.length === 0 || answers.some(({ is }) => is === 'right')) return undefined;
  const told = places.map(({ host, port }, at) => `${host}:${port} ${answers[at]?.what}`);
  const advised = new Set(answers.flatMap(({ tls }) => (tls ? [advice[tls]] : [])));
  return { text: [told.join(', '), ...advised].join(': '), isFinal: answers.every(({ is }) => is === 'wrong') };
};
