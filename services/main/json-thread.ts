import { parentPort } from 'node:worker_threads';
import { toBinary } from '@bufbuild/protobuf';
import type { JsonRequest } from '../gateway/exchange.js';
import { LENIENT_JSON, STRICT_JSON } from '../gateway/rest-dialects.js';
import { routeTable } from '../gateway/routes.js';
import { answerTo, type Asked } from './thread-caller.js';

// Reads large bodies in JSON, one after another.
const endpoints = new Map(routeTable([]).map((endpoint) => [endpoint.name, endpoint]));

const bytesOf = ({ rpc, body, isStrict }: JsonRequest): Uint8Array => {
  const endpoint = endpoints.get(rpc);
  if (!endpoint) throw new Error(`${rpc} is not an RPC of the interface`);
  const { read } = isStrict ? STRICT_JSON : LENIENT_JSON;
  return toBinary(endpoint.method.input, read(endpoint, Buffer.from(body)));
};

parentPort?.on('message', (asked: Asked<JsonRequest>) => {
  void answerTo(asked, bytesOf).then((answered) => parentPort?.postMessage(answered));
});
