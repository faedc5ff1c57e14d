import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import { ExecutionCreatedSchema } from '../../../proto/gen/platformidl/eventlog/execution_pb.js';
import { TailResponseSchema } from '../../../proto/gen/platformidl/eventlog/tail_pb.js';
import { StoreUnavailable } from '../../../services/kernel/fault.js';
import type { PayloadStore } from '../../../services/kernel/ports/payload-store.js';
import { type StreamName, streamName } from '../../../services/kernel/stream.js';
import { tailEncodings } from '../../../services/main/tail/encodings.js';
import { executionStream, newEvent, nodeReported } from '../../support/streams/filled-log.js';

const payloads: PayloadStore = {
  put: () => Promise.reject(new Error('nothing is stored')),
  get: () => Promise.reject(new StoreUnavailable('out of reach')),
  close: () => Promise.resolve(),
};

const foreign = newEvent('Paid', Buffer.from('{"sum":5}'));

const bytesOf = async (form: 'json' | 'protobuf', event: typeof foreign, stream: StreamName): Promise<Uint8Array> =>
  tailEncodings(payloads)[form].event({ ...event, stream, revision: 0n, position: 1n });

const encoded = async (...asked: Parameters<typeof bytesOf>): Promise<number> => (await bytesOf(...asked)).length;

/** The length of the head of a gRPC message. */
const HEAD = 5;

describe('a tail in protobuf', () => {
  it('leaves out events in streams of other writers, which a tail in JSON has', async () => {
    for (const stream of [streamName('bank', ['a']), '$settings' as StreamName]) {
      expect(await encoded('protobuf', foreign, stream)).toBe(0);
      expect(await encoded('json', foreign, stream)).toBeGreaterThan(0);
    }
  });

  it('has the events of the control plane', async () => {
    expect(await encoded('protobuf', nodeReported('e1', 1), executionStream('e1'))).toBeGreaterThan(0);
  });

  it.each([
    ['of a type that this release does not know', foreign],
    ['with bytes that are not its message', newEvent('ExecutionCreated', Uint8Array.of(0xff, 0xff))],
  ])('has an event %s as it is stored, as a tail in JSON has', async (_, event) => {
    const [message, json] = await Promise.all(
      (['protobuf', 'json'] as const).map(async (form) => {
        const bytes = await bytesOf(form, event, executionStream('e1'));
        return fromBinary(TailResponseSchema, bytes.subarray(HEAD)).event!;
      }),
    );
    expect([message?.type, message?.data.case]).toEqual([event.type, 'message']);
    expect(Buffer.from(message!.data.value as Uint8Array)).toEqual(Buffer.from(event.data));
    const { data } = JSON.parse(json!.data.value as string) as { data: string };
    expect(Buffer.from(data, 'base64')).toEqual(Buffer.from(event.data));
  });

  it('fails at an event whose payload is out of reach, so that a client can resume before it', async () => {
    const ref = { scope: 'runs/a', sha256: 'ab', sizeBytes: 1n, keyId: '' };
    const data = create(ExecutionCreatedSchema, { inputs: { content: { case: 'ref', value: ref } } });
    const event = newEvent('ExecutionCreated', toBinary(ExecutionCreatedSchema, data));
    await expect(encoded('protobuf', event, executionStream('e1'))).rejects.toBeInstanceOf(StoreUnavailable);
  });
});
