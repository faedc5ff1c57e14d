import type { EventLog } from '../../../services/kernel/ports/event-store.js';
import { type DescMethod, fromBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, expect, it } from 'vitest';

import type { Endpoint } from '../../../services/gateway/routes.js';
import { allRpcs } from './built.js';
import { counted } from '../runner/cases.js';
import { type ControlPlane } from '../processes/control-plane.js';
import { type GrpcClient, grpcClient } from '../clients/grpc-client.js';
import { type Hostile, hostileTo } from './hostile.js';
import { encodePublished } from '../clients/published-client.js';
import { isAsked, restClient, type RestClient } from '../clients/rest-client.js';
import { openTestLog } from '../processes/test-log.js';
import { wholeRequests } from './whole-requests.js';

/** The statuses that no malformed request may get. */
const NEVER = new Set(['UNKNOWN', 'INTERNAL', 'UNAVAILABLE', 'CANCELLED', 'DATA_LOSS', 'DEADLINE_EXCEEDED']);
const LIMIT_MS = 60_000;

/** The first request to each RPC in {@link wholeRequests}, as the bytes that the published client sends. */
const wholeBytes = new Map<string, Uint8Array>();
for (const [rpc, request] of wholeRequests) {
  const { method } = allRpcs.find(({ name }) => name === rpc)!;
  if (!wholeBytes.has(rpc)) wholeBytes.set(rpc, encodePublished(method.input.typeName, request));
}

/** The fault of an answer to a request, whose malformed field, if known, is `names`; `undefined` without a fault. */
const faultIn = (code: string, message: string, names: string | undefined): string | undefined => {
  if (NEVER.has(code)) return 'not a status for a mistake of the caller';
  if (code === 'OK') return names === undefined ? undefined : 'it was accepted';
  if (message === '') return 'it has no message';
  if (names === undefined || code === 'UNIMPLEMENTED' || message.includes(names)) return undefined;
  return `its message does not name ${names}`;
};

type Answered = { readonly code: string; readonly message: string };
type Ask = (method: DescMethod, whole: Uint8Array, hostile: Hostile) => Promise<Answered> | undefined;

const overGrpc =
  (client: GrpcClient): Ask =>
  (method, _, { bytes }) =>
    client[method.methodKind === 'unary' ? 'raw' : 'rawStream'](`/${method.parent.typeName}/${method.name}`, bytes);

const inOctets =
  (client: RestClient): Ask =>
  (method, whole, { bytes }) =>
    client.bytesAt(method, whole, bytes);

/**
 * Skips requests that cannot be sent: those without a segment of their path, and malformed bytes, which have no JSON.
 * All requests with a field that is known to be malformed are such bytes: invalid UTF-8, or a wrong wire type.
 */
const inJson =
  (client: RestClient): Ask =>
  (method, _, { bytes, names }) =>
    names === undefined ? client.rawJson(method, bytes) : undefined;

/** The transports that requests are sent over. */
export const WAYS = ['gRPC', 'REST in bytes', 'REST in JSON'] as const;

/** One of {@link WAYS}. */
type Way = (typeof WAYS)[number];

/** True when an RPC can be called over a transport. */
export const isAskedOver = (way: Way, method: DescMethod): boolean => way === 'gRPC' || isAsked(method);

/**
 * Defines tests that send all variants of one request to each RPC, some of which are still valid, over one transport,
 * to a control plane of their own. The request is the first in {@link wholeRequests}, or an empty one where there is
 * none.
 */
export const hostileCases = (way: Way, rpcs: readonly Endpoint[], start: () => Promise<ControlPlane>): void => {
  let plane: ControlPlane;
  let client: GrpcClient;
  let ask: Ask;
  let log: EventLog;

  beforeAll(async () => {
    plane = await start();
    const { grpc, http } = plane.server().ready;
    client = grpcClient(grpc);
    const rest = restClient(http);
    ask = { gRPC: overGrpc(client), 'REST in bytes': inOctets(rest), 'REST in JSON': inJson(rest) }[way];
    log = await openTestLog(plane.directory);
  });
  afterAll(async () => {
    client.close();
    await log.close();
    await plane.close();
  });

  const faultOf = async (
    name: string,
    answered: Answered,
    hostile: Hostile,
    before: bigint,
  ): Promise<string | undefined> => {
    const { code, message } = answered;
    const recorded = (await log.head()) - before;
    const isMerged = code === 'ALREADY_EXISTS' && name.endsWith('Event'); // new data in a repeated phase is recorded
    const isChanged = code !== 'OK' && recorded > 0n && !isMerged;
    const fault = isChanged ? `it recorded ${recorded} events` : faultIn(code, message, hostile.names);
    return fault === undefined ? undefined : `${hostile.what}: ${code}: ${message}: ${fault}`;
  };

  it.for(rpcs.map(({ name, method }) => [name, method] as const))(
    '%s never fails internally, names the malformed field where it is known, and records nothing that it refuses',
    { timeout: LIMIT_MS },
    async ([name, method], context) => {
      const whole = wholeBytes.get(name) ?? new Uint8Array();
      const faults: string[] = [];
      let asked = 0;
      for (const each of hostileTo(method.input, fromBinary(method.input, whole))) {
        const before = await log.head();
        const answered = await ask(method, whole, each);
        if (answered === undefined) continue;
        asked += 1;
        const fault = await faultOf(method.name, answered, each, before);
        if (fault !== undefined) faults.push(fault);
      }
      counted(context, asked);
      expect(faults).toEqual([]);
    },
  );
};
