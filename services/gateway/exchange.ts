import { type DescMessage, toBinary } from '@bufbuild/protobuf';

import type { Answer, Call, Route, StatusCode } from '../kernel/rpc.js';
import { assertDecodable, decode } from './decode.js';
import type { GatewayLog } from './log.js';
import type { PositionTokens } from './position-token.js';
import type { Endpoint, RouteTable } from './routes.js';

/** Hears of every call that was answered; for metrics and audit. */
export type OnAnswered = (endpoint: Endpoint, code: StatusCode | 'OK', tookMs: number) => void;

/** What a transport needs to serve the interface. */
export type Hosting = {
  readonly routes: RouteTable;
  /** The address or name to listen on. */
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  /** The largest request message that is accepted. */
  readonly maxMessageBytes: number;
  readonly positions: PositionTokens;
  readonly logger: GatewayLog;
  /** False while the process should get no calls; asked by health checks. */
  readonly isReady?: () => boolean;
  readonly onAnswered?: OnAnswered;
};

/** A transport that is listening. */
export interface Listening {
  readonly port: number;
  /** Takes no new calls, waits at most `drainMs` for those on their way, then cuts them off. */
  close(options: { readonly drainMs: number }): Promise<void>;
}

/**
 * Runs a route on the bytes of a request.
 *
 * @throws {RpcError} INVALID_ARGUMENT when they are no message of the RPC's.
 */
export const run = (route: Route, bytes: Uint8Array, call: Call): Promise<Answer<DescMessage>> => {
  const { input } = route.method;
  if (route.takes === 'message') return route.handle(decode(input, bytes) as never, call);
  assertDecodable(input, bytes);
  return route.handle(bytes as never, call);
};

/** An answer as bytes, whichever form the handler gave it in. */
export const encodeAnswer = (type: DescMessage, answer: Answer<DescMessage>): Uint8Array =>
  answer instanceof Uint8Array ? answer : toBinary(type, answer);
