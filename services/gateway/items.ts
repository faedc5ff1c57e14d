import type { DescMethod } from '@bufbuild/protobuf';

import type { Item, ItemAnswer, ItemInProgress } from '../kernel/item.js';
import { type AnswerItem, type DispatchedCall, openCall, type ReceivedCall } from './dispatch/call.js';
import type { Dispatch } from './dispatch/dispatch.js';
import { answerUnary, decodeRequest, encodeAnswer } from './exchange.js';
import type { PositionTokens } from './position-token.js';
import { type Endpoint, type RouteTable, unimplemented } from './routes.js';
import { rpcStatusBytes } from './rpc-status.js';
import { rpcFailureOf } from './status.js';

/** Services of the process that answer items. */
type ItemServices = {
  readonly dispatch: Dispatch;
  readonly positions: PositionTokens;
  readonly routes: RouteTable;
};

/** Headers that items do not get as they came: an item has the request id and trace context of the call, and no key. */
const OF_THE_CALL: ReadonlySet<string> = new Set(['idempotency-key', 'x-request-id', 'traceparent']);

const headerOfItem = (parent: DispatchedCall) => {
  const ofCall: Readonly<Record<string, string | undefined>> = {
    'x-request-id': parent.requestId,
    traceparent: parent.traceParent,
  };
  return (name: string): string | undefined => (OF_THE_CALL.has(name) ? ofCall[name] : parent.header(name));
};

const receive = (endpoint: Endpoint, request: Uint8Array): ReceivedCall => {
  if (!endpoint.route) throw unimplemented(endpoint);
  return { request: decodeRequest(endpoint.route, request), bytes: request.length };
};

const open = (endpoint: Endpoint, { request, onQueued }: Item, parent: DispatchedCall): DispatchedCall =>
  openCall({
    endpoint,
    transport: parent.transport,
    callersPackage: parent.callersPackage,
    startedAt: performance.now(),
    deadline: undefined, // the call that carries the items has one
    header: headerOfItem(parent),
    peer: parent.peer,
    certificate: parent.certificate,
    isCancelled: () => parent.isCancelled(),
    onQueued,
    receive: () => receive(endpoint, request),
    reserveMemory: () => Promise.resolve(),
    reserveAnswer: () => undefined, // the handler of the call bounds its answers
  });

const handle = async (call: DispatchedCall): Promise<Uint8Array> =>
  encodeAnswer(call.endpoint.method.output, await answerUnary(call));

/**
 * Answers items: each passes the same interceptors as the same request in a call of its own, with the caller and the
 * headers, but for the idempotency key, of the call that carries it.
 */
export const itemAnswers = ({ dispatch, positions, routes }: ItemServices): AnswerItem => {
  const endpoints = new Map<DescMethod, Endpoint>(routes.map((endpoint) => [endpoint.method, endpoint]));
  const positionOf = ({ position }: DispatchedCall): string =>
    position === undefined ? '' : positions.format(position);

  const failed = (thrown: unknown, call: DispatchedCall): ItemAnswer => {
    const failure = rpcFailureOf(thrown, call.endpoint.method);
    const status = rpcStatusBytes(failure, call.callersPackage);
    return { position: positionOf(call), status, retryAfterMs: failure.retryAfterMs ?? 0 };
  };
  const answer = async (call: DispatchedCall): Promise<ItemAnswer> => {
    try {
      await dispatch(call, handle);
      return { position: positionOf(call), status: undefined, retryAfterMs: 0 };
    } catch (thrown) {
      return failed(thrown, call);
    }
  };
  return (parent, item): ItemInProgress => {
    const endpoint = endpoints.get(item.method);
    if (!endpoint) throw new Error(`${item.method.name} is not an RPC of the interface`);
    const { project, domain, name } = endpoint.targetOf(item.request);
    return { target: `${project}/${domain}/${name}`, answer: answer(open(endpoint, item, parent)) };
  };
};
