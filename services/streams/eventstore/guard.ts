import { Gossip } from '../../../proto/gen/event_store/client/gossip_pb.js';
import { PersistentSubscriptions } from '../../../proto/gen/event_store/client/persistent_pb.js';
import { ServerFeatures } from '../../../proto/gen/event_store/client/server_features_pb.js';
import { Streams } from '../../../proto/gen/event_store/client/streams_pb.js';
import { refusesCaller } from '../../kernel/permitted.js';
import type { ClientCertificate } from '../../kernel/ports/authentication.js';
import type { EncodedCall, EncodedHandler } from '../../kernel/ports/encoded-calls.js';
import { RpcError } from '../../kernel/rpc.js';
import { callFailureOf } from './failure.js';
import { rpcPath } from './codec.js';

/** The permission that a call requires, in every project, because the log holds every project. */
export type StreamsPermission = 'read' | 'admin';

/** A call that asks to be admitted. */
export type AdmissionRequest = {
  readonly authorization: string | undefined;
  readonly permission: StreamsPermission;
  /** The path of the RPC, such as `/event_store.client.streams.Streams/Read`. */
  readonly path: string;
  /** The address of the connection, without its port: of the client, or of a proxy in front. */
  readonly peer: string;
  /** `x-forwarded-for`, which a proxy in front sends. */
  readonly forwardedFor: string | undefined;
  /** The certificate that the client has shown. */
  readonly certificate: ClientCertificate | undefined;
};

/** The caller of an admitted call. */
export type Admitted = {
  readonly principal: string;
  readonly issuer: string;
  readonly clientId: string;
  /** The time, in milliseconds since 1970, at which the credentials expire; `undefined` for those that do not. */
  readonly expiresAt: number | undefined;
};

/** Admits calls by their credentials. */
export interface Admissions {
  /**
   * @throws {RpcError} UNAUTHENTICATED or PERMISSION_DENIED when the caller may not make the call; RESOURCE_EXHAUSTED
   * after too many wrong passwords; UNAVAILABLE when the issuer of the token or a store cannot be asked.
   */
  admit(call: AdmissionRequest): Promise<Admitted>;
  /** Notes the status with which an admitted call has ended, such as `OK`. */
  ended(call: AdmissionRequest, admitted: Admitted, code: string): void;
}

const { read, append, batchAppend, delete: remove, tombstone } = Streams.method;
const groups = PersistentSubscriptions.method;

/** The permission that each RPC requires, by its path. Official clients send no credentials with those of `none`. */
const required: ReadonlyMap<string, StreamsPermission | 'none'> = new Map([
  ...[Gossip.method.read, ServerFeatures.method.getSupportedMethods].map(
    (method) => [rpcPath(method), 'none'] as const,
  ),
  ...[read, groups.read, groups.getInfo, groups.list].map((method) => [rpcPath(method), 'read'] as const),
  ...[
    ...[append, batchAppend, remove, tombstone],
    ...[groups.create, groups.update, groups.delete, groups.replayParked, groups.restartSubsystem],
  ].map((method) => [rpcPath(method), 'admin'] as const),
]);

const expired = (): RpcError => new RpcError('UNAUTHENTICATED', 'the credentials have expired');

/** An admitted call that has not ended. */
type OpenCall = {
  readonly request: AdmissionRequest;
  /** The caller as it was admitted last. */
  admitted: Admitted;
  /** Ends the call with the error. */
  readonly refuse: (error: RpcError) => void;
};

/**
 * The interval, in milliseconds, at which the callers of open calls are admitted again: their credentials may have been
 * withdrawn, or their roles revoked.
 */
const READMIT_MS = 1_000;

const assertNotExpired = ({ expiresAt = Infinity }: Admitted): void => {
  if (expiresAt <= Date.now()) throw expired();
};

/**
 * Admits the caller of an open call again. While the authentication fails without refusing the caller, because the
 * issuer of the token or a store cannot be asked, the caller stays admitted, until its credentials expire.
 */
const readmitOpen = async (call: OpenCall, readmitted: Promise<Admitted>): Promise<void> => {
  try {
    call.admitted = await readmitted;
  } catch (error) {
    if (refusesCaller(error)) throw error;
  }
  assertNotExpired(call.admitted);
};

/** Keeps the open calls. Once a second it ends those whose callers would not be admitted any more. */
const openCalls = (admissions: Admissions) => {
  const open = new Set<OpenCall>();
  let timer: NodeJS.Timeout | undefined;

  /** Asks once for all calls with equal credentials and permission: a client sends the same with each of its calls. */
  const readmit = (): void => {
    const known = new Map<string, Promise<Admitted>>();
    for (const call of open) {
      const { request, refuse } = call;
      const key = JSON.stringify([request.authorization, request.certificate, request.permission]);
      const readmitted = known.get(key) ?? admissions.admit(request);
      known.set(key, readmitted);
      readmitOpen(call, readmitted).catch((error: unknown) => {
        if (error instanceof RpcError) refuse(error);
      });
    }
    if (open.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };

  return {
    add: (call: OpenCall): void => {
      open.add(call);
      timer ??= setInterval(readmit, READMIT_MS).unref();
    },
    remove: (call: OpenCall): void => void open.delete(call),
  };
};

const admissionRequest = (
  { path, header, peer, certificate }: EncodedCall,
  permission: StreamsPermission,
): AdmissionRequest => ({
  path,
  permission,
  authorization: header('authorization'),
  peer: peer.address,
  forwardedFor: header('x-forwarded-for'),
  certificate: certificate(),
});

/** Makes a promise, and the function that rejects it. */
const refusal = () => {
  let refuse = (_error: RpcError): void => undefined;
  const refused = new Promise<never>((_, reject) => {
    refuse = reject;
  });
  return { refuse: (error: RpcError): void => refuse(error), refused };
};

/**
 * Makes a function that guards handlers: each call that needs a permission is admitted before its handler starts, and
 * ends soon after the credentials expire or are withdrawn, or the permission is. It throws for a path that the table of
 * permissions does not have, so that no call is open by mistake.
 */
export const guarding = (admissions: Admissions): ((path: string, handle: EncodedHandler) => EncodedHandler) => {
  const open = openCalls(admissions);

  const run = async (call: EncodedCall, request: AdmissionRequest, handle: EncodedHandler): Promise<void> => {
    const admitted = await admissions.admit(request);
    assertNotExpired(admitted);
    const { refuse, refused } = refusal();
    const openCall: OpenCall = { request, admitted, refuse };
    open.add(openCall);
    let code = 'OK';
    try {
      await Promise.race([handle(call), refused]);
    } catch (thrown) {
      ({ code } = callFailureOf(thrown));
      throw thrown;
    } finally {
      open.remove(openCall);
      admissions.ended(request, admitted, call.disconnected.aborted ? 'CANCELLED' : code);
    }
  };

  return (path, handle) => {
    const permission = required.get(path);
    if (permission === undefined) throw new Error(`no permission is declared for ${path}`);
    return permission === 'none' ? handle : (call) => run(call, admissionRequest(call, permission), handle);
  };
};
