import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  ConsumerListSchema,
  EngineListSchema,
  ListedConsumerSchema,
  ListedEngineSchema,
  ListedParkedStreamSchema,
  OperationsService,
  ParkedStreamListSchema,
} from '../../proto/gen/platformidl/eventlog/operations_service_pb.js';
import { invalid, route, type Route } from '../kernel/rpc.js';
import type {
  Engines,
  KnownEngine,
  ConsumerGroup,
  ConsumerGroups,
  RetryRequest,
  Unreadable,
  UnreadableStreams,
} from './ports.js';

export type OperationsServices = {
  readonly engines: Engines;
  readonly unreadable: UnreadableStreams;
  readonly consumers: ConsumerGroups;
};

const MAX_LIMIT = 1_000;
const DEFAULT_LIMIT = 100;

const limitOf = ({ limit }: { readonly limit: number }): number => {
  if (limit > MAX_LIMIT) throw invalid('limit', `${limit} is above ${MAX_LIMIT}`);
  return limit || DEFAULT_LIMIT;
};

const byName = (one: KnownEngine, other: KnownEngine): number =>
  one.group.localeCompare(other.group) || one.engine.localeCompare(other.engine);

const toListedEngine = ({ isConnected: connected, seenAtMs, leased, ...rest }: KnownEngine, limit: number) =>
  create(ListedEngineSchema, {
    ...{ ...rest, connected, seenAt: timestampFromMs(seenAtMs), leased: leased.length },
    executions: leased.slice(0, limit).map(({ project, domain, name }) => ({ project, domain, name })),
  });

const listEngines = async ({ engines }: OperationsServices, limit: number) => {
  const { engines: known, waiting } = await engines.known();
  const listed = known.filter(({ isConnected, leased }) => isConnected || leased.length > 0).toSorted(byName);
  return create(EngineListSchema, { engines: listed.map((each) => toListedEngine(each, limit)), waiting });
};

/**
 * Joins the streams that the views have parked and those that this process has parked. A stream in both lists is listed
 * once, at the lower position.
 */
const joined = (inViews: readonly Unreadable[], inProcess: readonly Unreadable[]) => {
  const views = new Map(inViews.map((each) => [each.stream, each]));
  const process = new Map(inProcess.map((each) => [each.stream, each]));
  const streams = [...new Set([...views.keys(), ...process.keys()])];
  const found = streams.flatMap((stream) => {
    const both = [views.get(stream), process.get(stream)].filter((each) => each !== undefined);
    const first = both.reduce((least, each) => (each.position < least.position ? each : least));
    return [{ ...first, inViews: views.has(stream), inProcess: process.has(stream) }];
  });
  return found.toSorted((one, other) => (one.position < other.position ? -1 : 1));
};

const toListedStream = (each: ReturnType<typeof joined>[number], retry: RetryRequest | undefined) =>
  create(ListedParkedStreamSchema, {
    ...each,
    ...(retry && { retryRequestedAt: timestampFromMs(retry.recordedAtMs), retryRequestedBy: retry.actor }),
  });

const listParkedStreams = async ({ unreadable }: OperationsServices, limit: number) => {
  const retries = await unreadable.retries(); // may find the stream of the requests itself to be parked
  const all = joined(await unreadable.inViews(), unreadable.inProcess());
  const streams = all.slice(0, limit).map((each) => toListedStream(each, retries.get(each.stream)));
  return create(ParkedStreamListSchema, { streams, total: all.length });
};

const toListedConsumer = ({ checkpoint, last, connections, ...rest }: ConsumerGroup) =>
  create(ListedConsumerSchema, {
    ...rest,
    connections: [...connections],
    ...(checkpoint !== undefined && { checkpoint }),
    ...(last !== undefined && { last }),
  });

export const operationsRoutes = (services: OperationsServices): readonly Route[] => [
  route(OperationsService.method.listEngines, (request) => listEngines(services, limitOf(request))),
  route(OperationsService.method.listParkedStreams, (request) => listParkedStreams(services, limitOf(request))),
  route(OperationsService.method.listConsumers, async () =>
    create(ConsumerListSchema, { consumers: (await services.consumers.all()).map(toListedConsumer) }),
  ),
];
