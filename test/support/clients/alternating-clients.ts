import { isOnMongodb } from '../servers/mongo-server.js';
import { type Answer, type Transport, transport } from './transports.js';

const PAUSE_MS = 50;
const MAX_WAIT_MS = 30_000;

/** True for the answer of a process that has not reached the position that the request names. */
const isBehind = ({ code, message }: Answer): boolean =>
  code === 'UNAVAILABLE' && / not reached position \d+ yet/u.test(message);

/** The later of two tokens `LOG.POSITION` of one log. */
const later = (one: string | undefined, other: string | undefined): string | undefined => {
  if (one === undefined || other === undefined) return one ?? other;
  const positionIn = (token: string): bigint => BigInt(token.slice(token.lastIndexOf('.') + 1));
  return positionIn(one) < positionIn(other) ? other : one;
};

/** The state of a client: the token of the greatest position that an answer has named, over any transport. */
export type Client = { seen?: string | undefined };

/**
 * One transport over several processes, or over one; `transports` has one for each process. Requests go to the
 * processes in turn. Each request names the greatest position that an answer to its client has named, so that the
 * client reads through any process what it wrote through another. A request is sent again, for up to 30 s, while a
 * process has not reached that position. The same is done for one process whose views are in a server of MongoDB's
 * protocol, because such views may lag for longer than a list waits for them.
 */
export const byTurns = (transports: readonly Transport[], client: Client): Transport => {
  const [first] = transports;
  if (first === undefined) throw new Error('no process to ask');
  if (transports.length === 1 && !isOnMongodb) return first;
  let turn = 0;
  const send: Transport['send'] = async (rpc, request, headers = {}) => {
    const next = transports[(turn += 1) % transports.length] ?? first;
    const position = client.seen;
    const asked = { ...(position !== undefined && { 'flightlog-min-position': position }), ...headers };
    const deadline = performance.now() + MAX_WAIT_MS;
    let answer = await next.send(rpc, request, asked);
    while (asked['flightlog-min-position'] === position && isBehind(answer) && performance.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      answer = await next.send(rpc, request, asked);
    }
    client.seen = later(client.seen, answer.position);
    return answer;
  };
  return transport(first.name, first.callersPackage, send, () => {
    for (const each of transports) each.close();
  });
};
