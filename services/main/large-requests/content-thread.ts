import { decode } from '../../gateway/decode.js';
import { routeTable } from '../../gateway/routes.js';
import { contentHashOf } from '../../kernel/idempotency.js';
import type { LargeRequest } from './large-work.js';
import { answerAll } from '../threads/thread-caller.js';

// This thread hashes the content of large requests.
const endpoints = new Map(routeTable([]).map((endpoint) => [endpoint.name, endpoint]));

answerAll(({ rpc, request }: LargeRequest<{ readonly rpc: string }>): string => {
  const endpoint = endpoints.get(rpc);
  if (!endpoint) throw new Error(`${rpc} is not an RPC of the interface`);
  const { input } = endpoint.method;
  return contentHashOf(input, decode(input, request));
});
