import { toBinary } from '@bufbuild/protobuf';
import type { JsonRequest } from '../../gateway/exchange.js';
import { LENIENT_JSON, STRICT_JSON } from '../../gateway/rest/dialects.js';
import { routeTable } from '../../gateway/routes.js';
import type { LargeRequest } from './large-work.js';
import { answerAll } from '../threads/thread-caller.js';

// This thread converts large JSON bodies of requests to protobuf bytes.
const endpoints = new Map(routeTable([]).map((endpoint) => [endpoint.name, endpoint]));

answerAll(({ rpc, request, isStrict }: LargeRequest<Omit<JsonRequest, 'body'>>) => {
  const endpoint = endpoints.get(rpc);
  if (!endpoint) throw new Error(`${rpc} is not an RPC of the interface`);
  const { read } = isStrict ? STRICT_JSON : LENIENT_JSON;
  return toBinary(endpoint.method.input, read(endpoint, Buffer.from(request)));
});
