import { type ChannelOptions, Client, credentials } from '@grpc/grpc-js';
import { bearer, type GetToken } from './token.js';

/** The control plane of an engine: its address, its certificates, and the tokens for its calls. */
export type ControlPlane = {
  /** `HOST:PORT` of gRPC. */
  readonly endpoint: string;
  /** Set where connections are encrypted. `ca` has the certificates to trust, in PEM; by default those of the system. */
  readonly tls?: { readonly ca?: Buffer } | undefined;
  /** Gets the token of each call; absent for a control plane without authentication. */
  readonly getToken?: GetToken | undefined;
};

/** Opens a channel to the control plane. The caller must close it. */
export const openChannel = ({ endpoint, tls, getToken }: ControlPlane, options: ChannelOptions = {}): Client =>
  new Client(endpoint, tls ? credentials.createSsl(tls.ca ?? null) : credentials.createInsecure(), {
    ...options,
    'grpc.use_local_subchannel_pool': 1,
    'grpc.max_send_message_length': -1,
    'grpc.max_receive_message_length': -1,
    ...(getToken && { interceptors: [bearer(getToken)] }),
  });
