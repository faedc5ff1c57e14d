import { type ChannelCredentials, type ChannelOptions, Client, credentials } from '@grpc/grpc-js';
import { tlsByAddress } from './tls-address.js';
import { bearer, type GetToken } from './tokens/token.js';

/** The control plane of an engine: its address, its certificates, and the tokens for its calls. */
export type ControlPlane = {
  /** `HOST:PORT` of gRPC. */
  readonly endpoint: string;
  /**
   * Set where connections are encrypted. `ca` has the certificates to trust, in PEM; by default those that Node.js
   * trusts. With `isUnverified` any certificate is taken, of the control plane and of an issuer on its host: only for a
   * control plane of this process.
   */
  readonly tls?: { readonly ca?: Buffer; readonly isUnverified?: true } | undefined;
  /** Gets the token of each call; absent for a control plane without authentication. */
  readonly getToken?: GetToken | undefined;
  /**
   * The interval at which a connection with calls in flight is checked, in milliseconds; 20 seconds by default. One
   * that does not answer for half of it is closed, and its calls fail with UNAVAILABLE.
   */
  readonly checkMs?: number | undefined;
};

const CHECK_MS = 20_000;

const credentialsOf = ({ endpoint, tls }: ControlPlane): ChannelCredentials =>
  tls
    ? credentials.createSsl(tls.ca ?? null, null, null, {
        ...tlsByAddress(endpoint).verify,
        rejectUnauthorized: tls.isUnverified !== true,
      })
    : credentials.createInsecure();

/**
 * Without checks, calls on a connection whose server is gone would wait until the kernel closes it: about 15 minutes.
 */
const checksOf = ({ checkMs = CHECK_MS }: ControlPlane): ChannelOptions => ({
  'grpc.keepalive_time_ms': checkMs,
  'grpc.keepalive_timeout_ms': checkMs / 2,
});

/** Opens a channel to the control plane. The caller must close it. */
export const openChannel = (plane: ControlPlane, options: ChannelOptions = {}): Client =>
  new Client(plane.endpoint, credentialsOf(plane), {
    ...options,
    ...checksOf(plane),
    'grpc.use_local_subchannel_pool': 1,
    'grpc.max_send_message_length': -1,
    'grpc.max_receive_message_length': -1,
    ...tlsByAddress(plane.endpoint).options,
    ...(plane.getToken && { interceptors: [bearer(plane.getToken)] }),
  });
