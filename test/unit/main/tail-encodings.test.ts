import { describe, expect, it } from 'vitest';

import { UnknownEvent } from '../../../services/kernel/fault.js';
import type { PayloadStore } from '../../../services/kernel/ports/payload-store.js';
import { type StreamName, streamName } from '../../../services/kernel/stream.js';
import { tailEncodings } from '../../../services/main/tail/encodings.js';
import { executionStream, newEvent, nodeReported } from '../../support/filled-log.js';

const payloads: PayloadStore = {
  put: () => Promise.reject(new Error('nothing is stored')),
  get: () => Promise.resolve(undefined),
  close: () => Promise.resolve(),
};

const foreign = newEvent('Paid', Buffer.from('{"sum":5}'));

const encoded = async (form: 'json' | 'protobuf', event: typeof foreign, stream: StreamName): Promise<number> =>
  (await tailEncodings(payloads)[form].event({ ...event, stream, revision: 0n, position: 1n })).length;

describe('a tail in protobuf', () => {
  it('leaves out events in streams of other writers, which a tail in JSON has', async () => {
    for (const stream of [streamName('bank', ['a']), '$settings' as StreamName]) {
      expect(await encoded('protobuf', foreign, stream)).toBe(0);
      expect(await encoded('json', foreign, stream)).toBeGreaterThan(0);
    }
  });

  it('has the events of the control plane, and fails at a type that this release does not know', async () => {
    expect(await encoded('protobuf', nodeReported('e1', 1), executionStream('e1'))).toBeGreaterThan(0);
    await expect(encoded('protobuf', foreign, executionStream('e1'))).rejects.toBeInstanceOf(UnknownEvent);
  });
});
