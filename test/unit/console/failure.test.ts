import { describe, expect, it } from 'vitest';

import { failureOf, received, ServerUnreachable } from '../../../console/server/failure.js';

/** An answer whose connection is lost within its body, as when the server is killed. */
const cutOff = (status: number): Response =>
  new Response(new ReadableStream({ pull: (body) => body.error(new TypeError('network error')) }), { status });

describe('an answer that is cut off', () => {
  it('is a failure with its HTTP status when the server refuses the request', async () => {
    const failure = await failureOf(cutOff(503), 'r1');
    expect(failure).toMatchObject({ message: 'the server answered 503', status: 503, requestId: 'r1' });
  });

  it('is the same as no answer otherwise, so that the page asks again', async () => {
    await expect(received(cutOff(200).arrayBuffer())).rejects.toThrow(ServerUnreachable);
  });
});

it('a request that the page has ended fails with the reason of its end', async () => {
  const reason = new Error('the page was left');
  await expect(received(Promise.reject(reason), AbortSignal.abort(reason))).rejects.toBe(reason);
});
