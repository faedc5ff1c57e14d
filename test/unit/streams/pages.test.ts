import type { OutgoingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { describe, expect, it } from 'vitest';

import { http2Pages } from '../../../services/streams/eventstore/pages.js';

const answerPage = http2Pages(
  {
    ...{ instanceId: new Uint8Array(16), address: '127.0.0.1', port: () => 2113 },
    ...{ head: () => Promise.resolve(0n), now: () => 0 },
  },
  { error: () => undefined },
);

/** The HTTP status of the answer to a GET of this path. */
const statusOf = (path: string): Promise<unknown> =>
  new Promise((resolve) => {
    const stream = {
      respond: (headers: OutgoingHttpHeaders) => resolve(headers[':status']),
      resume: () => undefined,
      end: () => undefined,
    } as unknown as ServerHttp2Stream;
    answerPage(stream, { ':method': 'GET', ':path': path });
  });

describe('the pages of port 2113', () => {
  it.each(['/info', '/gossip'])('have %s', async (path) => {
    expect(await statusOf(path)).toBe(200);
  });

  it.each(['constructor', 'toString', '/'])('have no %s', async (path) => {
    expect(await statusOf(path)).toBe(404);
  });
});
