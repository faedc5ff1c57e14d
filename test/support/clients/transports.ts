import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import type { Any } from '@bufbuild/protobuf/wkt';

import { StatusSchema } from '../../../proto/gen/google/rpc/status_pb.js';
import { grpcClient } from './grpc-client.js';
import { ANSWER_DEPTH, methodOf, restClient, type RestBody, statusOf } from './rest-client.js';
import type { Ready } from '../processes/server-process.js';

/** The answer to a request, over any transport. */
export type Answer = {
  readonly code: string;
  readonly message: string;
  readonly details: readonly Any[];
  /** The encoded answer message; empty for an error. */
  readonly bytes: Uint8Array;
  /** The header `flightlog-position`: the token of a position that the answer includes, as `LOG.POSITION`. */
  readonly position: string | undefined;
  /** The header `flightlog-unread`: the fields of the answer whose data could not be read, with the reasons. */
  readonly unread: string | undefined;
};

/** A status other than OK. */
class Refused extends Error {
  readonly answer: Answer;

  constructor(answer: Answer) {
    super(`${answer.code}: ${answer.message}`);
    this.name = 'Refused';
    this.answer = answer;
  }
}

/** A transport to the control plane; all have the same requests and answers. */
export type Transport = {
  readonly name: string;
  /** The protobuf package by which the client names messages and services. */
  readonly callersPackage: string;
  /** Sends a request as bytes to an RPC by its name; never throws for a status. */
  readonly send: (rpc: string, request: Uint8Array, headers?: Readonly<Record<string, string>>) => Promise<Answer>;
  /**
   * Calls an RPC.
   *
   * @throws {Refused} for a status other than OK.
   * @throws {Error} when requests by the RPC's name go to another service that has an RPC of the same name.
   */
  readonly call: <I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
  ) => Promise<MessageShape<O>>;
  /** Calls an RPC, and returns its answer, also one with a status other than OK. */
  readonly attempt: <I extends DescMessage>(
    method: DescMethodUnary<I>,
    request: MessageInitShape<I>,
  ) => Promise<Answer>;
  readonly close: () => void;
};

/** Makes a transport from a function that sends requests. */
export const transport = (
  name: string,
  callersPackage: string,
  send: Transport['send'],
  close: Transport['close'] = () => undefined,
): Transport => {
  const sendTyped = <I extends DescMessage>(
    method: DescMethodUnary<I>,
    request: MessageInitShape<I>,
  ): Promise<Answer> => {
    const { typeName } = methodOf(method.name).parent;
    if (typeName !== method.parent.typeName) throw new Error(`requests for ${method.name} go to ${typeName}`);
    return send(method.name, toBinary(method.input, create(method.input, request)));
  };
  return {
    name,
    callersPackage,
    send,
    call: async (method, request) => {
      const answer = await sendTyped(method, request);
      if (answer.code !== 'OK') throw new Refused(answer);
      return fromBinary(method.output, answer.bytes, { recursionLimit: ANSWER_DEPTH });
    },
    attempt: sendTyped,
    close,
  };
};

/** gRPC, under one of the two names that the services have. */
export const overGrpc = (
  ready: Pick<Ready, 'grpc'>,
  callersPackage: 'platformidl' | 'flyteidl' = 'flyteidl',
): Transport => {
  const client = grpcClient(ready.grpc);
  const send: Transport['send'] = async (rpc, request, headers) => {
    const service = methodOf(rpc).parent.typeName.replace(/^platformidl/u, callersPackage);
    const answer = await client.raw(`/${service}/${rpc}`, request, headers);
    const [status] = answer.metadata.get('grpc-status-details-bin');
    const details = status === undefined ? [] : fromBinary(StatusSchema, new Uint8Array(Buffer.from(status))).details;
    const position = answer.metadata.get('flightlog-position')[0]?.toString();
    const unread = answer.metadata.get('flightlog-unread')[0]?.toString();
    return { ...answer, details, position, unread };
  };
  return transport(`gRPC (${callersPackage})`, callersPackage, send, client.close);
};

/** REST, with messages as JSON or as protobuf bytes. */
export const overRest = (ready: Pick<Ready, 'http'>, body: RestBody = 'json'): Transport => {
  const client = restClient(ready.http);
  const send: Transport['send'] = async (rpc, request, headers = {}) => {
    const answer = await client.raw(rpc, request, { body, headers });
    const position = answer.headers.get('flightlog-position') ?? undefined;
    const unread = answer.headers.get('flightlog-unread') ?? undefined;
    if (answer.code === 'OK') return { ...answer, details: [], position, unread };
    return { ...answer, bytes: new Uint8Array(), details: statusOf(answer).details, position, unread };
  };
  return transport(`REST (${body})`, 'platformidl', send);
};
