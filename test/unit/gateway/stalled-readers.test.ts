import { EventEmitter, once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';

import { ExecutionWatchService } from '../../../proto/gen/platformidl/eventlog/watch_pb.js';
import type { FollowRoute } from '../../../services/kernel/rpc.js';
import { type Logged, overGrpc, overHttp } from './toy.js';

/**
 * Of 70 chunks of this size, a client that reads nothing is sent 65,535 bytes (the window of HTTP/2), and the rest
 * waits.
 */
const CHUNK_BYTES = 1_000;
const PATH = '/api/v1/watch/executions/flytesnacks/development/a';

/**
 * A route whose stream fails after so many chunks, by default one without end; a client that reads nothing for 100 ms
 * is disconnected. `ended` resolves when the client is gone, to the number of chunks that the stream has given.
 */
const chunkStream = (chunks = Infinity) => {
  let [given, resolveEnded] = [0, (_given: number): void => undefined];
  const ended = new Promise<number>((resolve) => (resolveEnded = resolve));
  const route: FollowRoute = {
    method: ExecutionWatchService.method.watch,
    takes: 'follow',
    maxStallMs: 100,
    async *follow(_request, _call, { disconnected: gone }) {
      try {
        for (given = 0; given < chunks && !gone.aborted; given += 1)
          yield await Promise.resolve(new Uint8Array(CHUNK_BYTES));
        if (chunks === Infinity) return;
        throw new Error('dropped');
      } finally {
        gone.addEventListener('abort', () => resolveEnded(given));
        if (gone.aborted) resolveEnded(given);
      }
    },
  };
  return { route, ended };
};

it('a stream that ends without an event is answered with no events', async () => {
  const { route } = chunkStream();
  const toy = await overHttp([{ ...route, follow: () => Readable.from([]) }]);
  const answer = await fetch(toy.url + PATH, { signal: AbortSignal.timeout(5_000) });
  expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
  expect(await answer.text()).toBe('');
  await toy.close();
});

it('a stream is ended when its client leaves before the first event, and other requests are answered', async () => {
  const { route } = chunkStream();
  const [steps, leaving] = [new EventEmitter(), new AbortController()];
  const follow: FollowRoute['follow'] = async function* (_request, _call, { disconnected: gone }) {
    steps.emit('opened');
    await once(gone, 'abort');
    steps.emit('left');
    yield* [];
  };
  const toy = await overHttp([{ ...route, follow }]);
  const [opened, left] = [once(steps, 'opened'), once(steps, 'left')];
  const refused = expect(fetch(toy.url + PATH, { signal: leaving.signal })).rejects.toThrow('aborted');
  await opened;
  leaving.abort();
  await Promise.all([refused, left]);
  await new Promise(setImmediate);
  expect((await toy.get('/healthcheck')).status).toBeLessThan(500);
  await toy.close();
});

it('the failure of a stream that has begun is logged, and its connection is closed', async () => {
  const { route } = chunkStream(1);
  const logged: Logged[] = [];
  const toy = await overHttp([route], logged);
  await expect(fetch(toy.url + PATH).then((answer) => answer.arrayBuffer())).rejects.toThrow();
  await expect.poll(() => logged.map(({ level }) => level)).toEqual(['error']);
  await toy.close();
});

describe('a client that does not read what a stream sends', () => {
  it('is disconnected, over Server-Sent Events', async () => {
    const { route, ended } = chunkStream();
    const toy = await overHttp([route]);
    const request = get(toy.url + PATH, { agent: false }).on('error', () => undefined);
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    response.on('error', () => undefined);
    expect(await ended).toBeGreaterThan(0);
    request.destroy();
    await toy.close();
  });

  it.each([
    ['without end', Infinity],
    ['that has failed, with its reason not read', 70],
  ])('is disconnected, over gRPC, from a stream %s', async (_, chunks) => {
    const { route, ended } = chunkStream(chunks);
    const toy = await overGrpc([route]);
    const session = connectHttp2(`http://127.0.0.1:${toy.port}`);
    const { parent, name } = route.method;
    const stream = session.request({
      ':method': 'POST',
      ':path': `/${parent.typeName}/${name}`,
      'content-type': 'application/grpc',
    });
    stream.on('error', () => undefined).end(Buffer.alloc(5)); // an empty message; what is answered is not read
    expect(await ended).toBeGreaterThan(0);
    session.destroy();
    await toy.close();
  });
});
