import type { DescMethod } from '@bufbuild/protobuf';
import {
  type Metadata,
  ServerInterceptingCall,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
} from '@grpc/grpc-js';
import { PersistentSubscriptions } from '../../../proto/gen/event_store/client/persistent_pb.js';
import { Streams } from '../../../proto/gen/event_store/client/streams_pb.js';
import { RpcError } from '../../kernel/rpc.js';
import { failureOf, serviceError } from './failure.js';

/** The permission that a call requires, in every project, because the log holds every project. */
export type StreamsPermission = 'read' | 'admin';

/** A call that asks to be admitted. */
export type AskingCall = {
  readonly authorization: string | undefined;
  readonly permission: StreamsPermission;
  /** Of the RPC, such as `/event_store.client.streams.Streams/Read`. */
  readonly path: string;
  /** The address of the client, without its port. */
  readonly address: string;
};

/**
 * Admits a call by its `authorization`.
 *
 * @returns the time, in milliseconds since 1970, at which the credentials expire; `undefined` for those that do not.
 * @throws {RpcError} UNAUTHENTICATED or PERMISSION_DENIED when the caller may not make the call.
 */
export type Admit = (call: AskingCall) => Promise<number | undefined>;

const { read, append, batchAppend, delete: remove, tombstone } = Streams.method;
const groups = PersistentSubscriptions.method;

const pathOf = ({ parent, name }: DescMethod): string => `/${parent.typeName}/${name}`;

/** Calls that are not here, of gossip and server features, are sent without credentials by official clients. */
const required: ReadonlyMap<string, StreamsPermission> = new Map([
  ...[read, groups.read, groups.getInfo, groups.list].map((method) => [pathOf(method), 'read'] as const),
  ...[
    ...[append, batchAppend, remove, tombstone],
    ...[groups.create, groups.update, groups.delete, groups.replayParked, groups.restartSubsystem],
  ].map((method) => [pathOf(method), 'admin'] as const),
]);

const MAX_TIMER_MS = 2 ** 31 - 1;

const expired = (): RpcError => new RpcError('UNAUTHENTICATED', 'the credentials have expired');

const authorizationIn = (metadata: Metadata): string | undefined => metadata.get('authorization')[0]?.toString();

/** The address of the client, without its port. */
const addressOf = (call: Pick<ServerInterceptingCallInterface, 'getPeer'>): string =>
  call
    .getPeer()
    .replace(/:\d+$/u, '')
    .replace(/^\[(.*)\]$/u, '$1');

/** Makes the interceptor that admits each call before its handler starts, and ends it when the credentials expire. */
export const guarding =
  (admit: Admit): ServerInterceptor =>
  ({ path }, inner) => {
    const permission = required.get(path);
    if (permission === undefined) return new ServerInterceptingCall(inner);
    let timer: NodeJS.Timeout | undefined;
    const refuse = (thrown: unknown): void => call.sendStatus(serviceError(failureOf(thrown)));
    const endAt = (expiresAt: number | undefined): void => {
      const leftMs = (expiresAt ?? Infinity) - Date.now();
      if (leftMs < MAX_TIMER_MS) timer = setTimeout(() => refuse(expired()), leftMs);
    };
    const call = new ServerInterceptingCall(inner, {
      start: (next) =>
        next({
          onReceiveMetadata: (metadata, pass) =>
            void admit({ authorization: authorizationIn(metadata), permission, path, address: addressOf(inner) }).then(
              (expiresAt) => {
                endAt(expiresAt);
                pass(metadata);
              },
              refuse,
            ),
          onCancel: () => clearTimeout(timer),
        }),
      sendStatus: (status, next) => {
        clearTimeout(timer);
        next(status);
      },
    });
    return call;
  };
