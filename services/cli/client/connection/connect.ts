import { create } from '@bufbuild/protobuf';
import { TailRequestSchema } from '../../../../proto/gen/platformidl/eventlog/tail_pb.js';
import type { Connection, Headers, Transport } from './connection.js';
import { type ConnectionFlags, type Profile, serverOf } from './profile.js';
import { profileOf } from './profile-of.js';
import { ConnectionLost, Refused } from './refusal.js';
import { endWithReader } from '../output/reader.js';
import { newToken, tokenAtHand } from '../sign-in/token.js';

/** Opens the transport to the server of a profile. */
export const transportTo = async ({ address, ...profile }: Profile): Promise<Transport> => {
  if (address.kind === 'rest') return (await import('./rest.js')).restTransport(address.url, profile.retryPolicy.tryMs);
  return (await import('./grpc.js')).grpcTransport({ ...profile, address });
};

const isUnauthenticated = (error: unknown): boolean => error instanceof Refused && error.code === 'UNAUTHENTICATED';

/**
 * Connects to the server of a profile. A token from a file or an earlier sign-in is sent with the first call. Other
 * tokens are fetched when the server asks for one, because a server without authentication has no issuer.
 */
const connect = async (profile: Profile): Promise<Connection> => {
  const transport = await transportTo(profile);
  let token = tokenAtHand(profile);
  const headersOf = (): Headers => (token === undefined ? {} : { [profile.header]: `Bearer ${token}` });
  const signIn = async (error: unknown): Promise<void> => {
    if (!isUnauthenticated(error)) throw error;
    const next = await newToken(profile, transport, token);
    if (next === undefined) throw error;
    token = next;
  };
  const signedIn = async <Answer>(send: (headers: Headers) => Promise<Answer>): Promise<Answer> => {
    try {
      return await send(headersOf());
    } catch (error) {
      await signIn(error);
      return send(headersOf());
    }
  };
  const streamed = async function* <Answer>(open: (headers: Headers) => AsyncIterable<Answer>): AsyncIterable<Answer> {
    let hasBegun = false;
    for (let isSignedIn = false; ; isSignedIn = true) {
      try {
        for await (const answer of open(headersOf())) {
          hasBegun = true;
          yield answer;
        }
        return;
      } catch (error) {
        // The token has expired: the caller resumes the stream, and then the server asks for a new token.
        if (hasBegun && isUnauthenticated(error))
          throw new ConnectionLost(serverOf(profile), 'the token has expired', { cause: error });
        if (hasBegun || isSignedIn) throw error;
        await signIn(error);
      }
    }
  };
  const { consoleUrl } = profile;
  return {
    call: (method, init, onUnread) =>
      signedIn((headers) => transport.call(method, create(method.input, init), headers, onUnread)),
    open: (method, init, signal) =>
      streamed((headers) => transport.open(method, create(method.input, init), { headers, signal })),
    tail: (init, signal) => streamed((headers) => transport.tail(create(TailRequestSchema, init), { headers, signal })),
    consoleLink: (path) => (consoleUrl === undefined ? undefined : `${consoleUrl.replace(/\/$/u, '')}/console${path}`),
    close: () => transport.close(),
  };
};

/**
 * Works with a connection to the server that is named by the flags, the environment or a profile, and closes it. The
 * process ends when the reader of its output has left.
 */
export const connected = async <Result>(
  flags: ConnectionFlags,
  work: (connection: Connection) => Promise<Result>,
): Promise<Result> => {
  endWithReader();
  const connection = await connect(profileOf(flags));
  try {
    return await work(connection);
  } finally {
    connection.close();
  }
};
