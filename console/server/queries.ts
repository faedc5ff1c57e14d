import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from '@bufbuild/protobuf';
import { QueryClient, queryOptions, type UseQueryOptions } from '@tanstack/react-query';

import { call } from './call.js';
import { ServerFailure, ServerUnreachable } from './failure.js';

const FRESH_MS = 2_000;
const RETRY_MS = 1_000;
const MAX_RETRY_MS = 8_000;

/** Statuses of a server that has too much to do: UNAVAILABLE and RESOURCE_EXHAUSTED. */
const BUSY: ReadonlySet<number> = new Set([503, 429]);
const MAX_RETRIES = 4;

const isWorthRetrying = (count: number, error: unknown): boolean =>
  error instanceof ServerUnreachable ||
  (error instanceof ServerFailure && BUSY.has(error.status) && count < MAX_RETRIES);

/** A server that is down is asked again until it answers, one that is busy a few times; other refusals are final. */
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

type AskOptions<Output extends DescMessage> = UseQueryOptions<MessageShape<Output>>;

/** A query that asks an RPC. */
export const asking = <Input extends DescMessage, Output extends DescMessage>(
  method: DescMethodUnary<Input, Output>,
  init: MessageInitShape<Input>,
): AskOptions<Output> =>
  queryOptions({
    queryKey: keyOf(method, init),
    queryFn: ({ signal }) => call(method, init, signal),
  });

/** The queries of an RPC, whatever they ask. */
export const queriesOf = ({ parent, name }: DescMethodUnary): readonly unknown[] => [parent.name, name];
