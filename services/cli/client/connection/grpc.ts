import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { type DescMessage, type DescMethod, fromBinary, type MessageShape, toBinary } from '@bufbuild/protobuf';
import {
  type ChannelCredentials,
  type ChannelOptions,
  Client,
  credentials,
  Metadata,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import { tlsByAddress } from '../../../../engine/tls-address.js';
import { EventLogService } from '../../../../proto/gen/platformidl/eventlog/tail_pb.js';
import { ANSWER_DEPTH } from '../../../kernel/encoding/answer-depth.js';
import { type Headers, type Transport, UNREAD } from './connection.js';
import type { ChannelSettings, GrpcAddress, Profile, RetryPolicy } from './profile.js';
import { proxyHeaders } from './proxy-headers.js';
import { ConnectionLost, ForeignAnswer, isForLater, Refused, TimedOut, Unreachable } from './refusal.js';
import { neededCertificates } from '../../needed-file.js';

const optionsOf = ({ maxMessageBytes = -1, serviceConfig }: ChannelSettings): ChannelOptions => ({
  'grpc.max_receive_message_length': maxMessageBytes,
  'grpc.max_send_message_length': -1,
  ...(serviceConfig !== undefined && { 'grpc.service_config': serviceConfig }),
});

const credentialsOf = ({ target, isPlain, caFile, skipVerify }: GrpcAddress): ChannelCredentials => {
  if (isPlain) return credentials.createInsecure();
  const roots = caFile === undefined ? null : neededCertificates(caFile);
  return credentials.createSsl(roots, null, null, {
    ...tlsByAddress(target).verify,
    rejectUnauthorized: !skipVerify,
  });
};

const metadataOf = (headers: Headers): Metadata => {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
  return metadata;
};

const pathOf = (method: DescMethod): string => `/${method.parent.typeName}/${method.name}`;
const asIs = (bytes: Buffer): Buffer => bytes;

/** The gRPC library's texts of UNAVAILABLE when it has found no address to connect to. */
const UNRESOLVED = /Name resolution failed|Failed to parse DNS address/u;

/**
 * The gRPC library's texts of UNAVAILABLE when a connection that it had is lost. A server that answers UNAVAILABLE
 * itself, because it is shutting down, sends another text.
 */
const LOST = /Connection dropped|ECONNRESET/u;

/** The gRPC library's text when the time for a call is over. A server's own DEADLINE_EXCEEDED has another text. */
const isOverdue = ({ code, details }: ServiceError): boolean =>
  code === status.DEADLINE_EXCEEDED && details.startsWith('Deadline exceeded after');

/** True when the call was not sent, because there was no connection. */
const wasNotSent = ({ details }: ServiceError): boolean =>
  details.includes('No connection established') || UNRESOLVED.test(details);

const isConnectionFailure = (error: ServiceError): boolean =>
  error.code === status.UNAVAILABLE && (wasNotSent(error) || LOST.test(error.details));

/**
 * The network's error in the details of the library, which are `Name resolution failed for target …` or
 * `No connection established. Last error: TEXT. Resolution note: …`.
 */
const reasonIn = ({ details }: ServiceError): string =>
  /Last error: (?:Error: )?(.*?)(?: \(\d{4}-[^)]*\)|\. Resolution note:|$)/su.exec(details)?.[1] ??
  (UNRESOLVED.test(details) ? 'its name cannot be resolved' : '');

const FIRST_PAUSE_MS = 100;

/** Tries again as the policy says, after pauses that double, where no answer came or the server says to try later. */
const retried = async <Answer>(
  { retries, maxPauseMs }: RetryPolicy,
  attempt: () => Promise<Answer>,
): Promise<Answer> => {
  for (let count = 0; ; count++) {
    try {
      return await attempt();
    } catch (error) {
      if (count >= retries || !isForLater(error)) throw error;
    }
    await pause(Math.min(FIRST_PAUSE_MS * 2 ** count, maxPauseMs));
  }
};

/** The message of an answer. @throws {ForeignAnswer} when it has no such message. */
const messageIn = <Output extends DescMessage>(output: Output, bytes: Buffer, server: string): MessageShape<Output> => {
  try {
    return fromBinary(output, bytes, { recursionLimit: ANSWER_DEPTH });
  } catch (cause) {
    throw new ForeignAnswer(server, { cause });
  }
};

/** The bytes of an answer, and the trailer {@link UNREAD}. */
type UnaryAnswer = { readonly body: Buffer; readonly unread: string | undefined };

/** The settings of a profile that calls over gRPC use. */
type GrpcProfile = Pick<Profile, 'proxy' | 'retryPolicy' | 'channel'> & { readonly address: GrpcAddress };

/** Sends RPCs over gRPC, as flytectl does. */
export const grpcTransport = ({ address, proxy, retryPolicy, channel }: GrpcProfile): Transport => {
  const client = new Client(address.target, credentialsOf(address), {
    ...optionsOf(channel),
    ...tlsByAddress(address.target).options,
  });
  const errorOf = (error: ServiceError): Error => {
    const options = { cause: error };
    if (isOverdue(error)) return new TimedOut(address.target, retryPolicy.tryMs, options);
    if (!isConnectionFailure(error)) return new Refused(error.code, error.details, options);
    return new (wasNotSent(error) ? Unreachable : ConnectionLost)(address.target, reasonIn(error), options);
  };
  const open: Transport['open'] = async function* (method, request, { headers, signal }) {
    const bytes = Buffer.from(toBinary(method.input, request));
    const call = client.makeServerStreamRequest(
      pathOf(method),
      asIs,
      asIs,
      bytes,
      metadataOf({ ...proxyHeaders(proxy), ...headers }),
    );
    const cancel = (): void => call.cancel();
    signal.addEventListener('abort', cancel, { once: true });
    try {
      for await (const answer of call as AsyncIterable<Buffer>) yield messageIn(method.output, answer, address.target);
    } catch (error) {
      if (error instanceof ForeignAnswer) throw error;
      const failure = error as ServiceError;
      if (failure.code !== status.CANCELLED || !signal.aborted) throw errorOf(failure);
    } finally {
      signal.removeEventListener('abort', cancel);
      cancel();
    }
  };
  const callOnce = (path: string, bytes: Buffer, headers: Headers): Promise<UnaryAnswer> =>
    new Promise((resolve, reject) => {
      const options = { deadline: Date.now() + retryPolicy.tryMs };
      let body: Buffer = Buffer.alloc(0);
      const call = client.makeUnaryRequest(path, asIs, asIs, bytes, metadataOf(headers), options, (error, answer) => {
        if (error) reject(errorOf(error));
        else body = answer ?? body;
      });
      call.on('status', ({ metadata }) => resolve({ body, unread: metadata.get(UNREAD)[0]?.toString() }));
    });
  return {
    call: async (method, request, headers, onUnread) => {
      // A command whose answer was lost is not done twice: all tries have one key, by which the server recognizes it.
      const key = retryPolicy.retries > 0 ? { 'idempotency-key': randomUUID() } : {};
      const all = { ...proxyHeaders(proxy), ...key, ...headers };
      const bytes = Buffer.from(toBinary(method.input, request));
      const { body, unread } = await retried(retryPolicy, () => callOnce(pathOf(method), bytes, all));
      if (unread !== undefined) onUnread?.(unread);
      return messageIn(method.output, body, address.target);
    },
    open,
    async *tail(request, options) {
      for await (const { position, event } of open(EventLogService.method.tail, request, options))
        yield { position: String(position), text: event?.data.case === 'json' ? event.data.value : undefined };
    },
    close: () => client.close(),
  };
};
