import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from '@bufbuild/protobuf';
import { QueryClient, queryOptions, type UseQueryOptions } from '@tanstack/react-query';

import { type Answer, callRpc, call } from './call.js';
import { ServerFailure, ServerUnreachable } from './failure.js';

const FRESH_MS = 2_000;
const RETRY_MS = 1_000;
const MAX_RETRY_MS = 8_000;

/** Statuses of a server that cannot serve a call now: UNAVAILABLE and RESOURCE_EXHAUSTED. */
const BUSY: ReadonlySet<number> = new Set([503, 429]);
const MAX_RETRIES = 4;

const isWorthRetrying = (count: number, error: unknown): boolean =>
  error instanceof ServerUnreachable ||
  (error instanceof ServerFailure && BUSY.has(error.status) && count < MAX_RETRIES);

/** Calls to an unreachable server are retried until it answers, to a busy one a few times; other errors are final. */
export const RETRIED = {
  retry: isWorthRetrying,
  retryDelay: (attempt: number) => Math.min(RETRY_MS * 2 ** attempt, MAX_RETRY_MS),
} as const;

/** Answers are kept by RPC and request. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: FRESH_MS,
      structuralSharing: false, // messages have bigints
      ...RETRIED,
      networkMode: 'always',
    },
    mutations: { networkMode: 'always' },
  },
});

const keyOf = (method: DescMethodUnary, init: object): readonly unknown[] => [
  method.parent.name,
  method.name,
  JSON.stringify(init, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value)),
];

type RpcQueryOptions<Output extends DescMessage> = UseQueryOptions<MessageShape<Output>>;

/** The options of a query that calls an RPC. */
export const rpcQuery = <Input extends DescMessage, Output extends DescMessage>(
  method: DescMethodUnary<Input, Output>,
  init: MessageInitShape<Input>,
): RpcQueryOptions<Output> =>
  queryOptions({
    queryKey: keyOf(method, init),
    queryFn: ({ signal }) => call(method, init, signal),
  });

/** The options of a query that calls an RPC and gives its answer with what the headers say, such as unread fields. */
export const answerQuery = <Input extends DescMessage, Output extends DescMessage>(
  method: DescMethodUnary<Input, Output>,
  init: MessageInitShape<Input>,
): UseQueryOptions<Answer<MessageShape<Output>>> =>
  queryOptions({
    queryKey: [...keyOf(method, init), 'answer'] as readonly unknown[],
    queryFn: ({ signal }) => callRpc(method, init, signal),
  });

/** The key prefix of all queries of an RPC. */
export const queriesOf = ({ parent, name }: DescMethodUnary): readonly unknown[] => [parent.name, name];

/** Options of queries whose answers no event announces: they are read every five seconds. */
export const REFRESHED = { refetchInterval: 5_000 } as const;
