import { create } from '@bufbuild/protobuf';
import { type handleUnaryCall, type Metadata, Server, ServerCredentials, status } from '@grpc/grpc-js';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { grpcTransport } from '../../../services/cli/client/connection/grpc.js';
import type { Profile } from '../../../services/cli/client/connection/profile.js';
import { profileIn } from '../../../services/cli/client/connection/profile-file.js';
import { GetVersionRequestSchema } from '../../../proto/gen/platformidl/admin/version_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';

const METHOD = AdminService.method.getVersion;

/** The metadata of each call that the server got. */
const calls: Metadata[] = [];
/** The next answers of the server: a status, bytes that are no message, or no answer at all. OK when there is none. */
const answers: (status | 'no message' | 'nothing')[] = [];

const server = new Server();
let endpoint = '';

const asIs = (bytes: Buffer): Buffer => bytes;

const answer: handleUnaryCall<Buffer, Buffer> = ({ metadata }, callback) => {
  calls.push(metadata);
  const code = answers.shift() ?? status.OK;
  if (code === status.OK) callback(null, Buffer.alloc(0));
  else if (code === 'no message') callback(null, Buffer.of(0xff)); // bytes that no message is encoded as
  else if (code !== 'nothing') callback({ code });
};

beforeAll(async () => {
  server.register(`/${METHOD.parent.typeName}/${METHOD.name}`, answer, asIs, asIs, 'unary');
  const port = await new Promise<number>((resolve) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (_, bound) => resolve(bound));
  });
  endpoint = `127.0.0.1:${port}`;
});
beforeEach(() => {
  calls.length = 0;
  answers.length = 0;
});
afterAll(() => server.forceShutdown());

/** Makes one call with a profile that has these lines in its section `admin`. */
const callBy = async (...lines: readonly string[]): Promise<void> => {
  const text = ['admin:', `endpoint: ${endpoint}`, 'insecure: true', ...lines].join('\n  ');
  const profile = profileIn(text, 'config.yaml') as Profile & { address: { kind: 'grpc' } };
  const transport = grpcTransport(profile);
  try {
    await transport.call(METHOD, create(GetVersionRequestSchema), {});
  } finally {
    transport.close();
  }
};

/** The value of a header in each call that the server got. */
const sent = (header: string): readonly unknown[] => calls.map((metadata) => metadata.get(header)[0]);

describe('a call over gRPC', () => {
  it('is tried again as often as the profile says, with one idempotency key', async () => {
    answers.push(status.UNAVAILABLE, status.RESOURCE_EXHAUSTED);
    await callBy('maxRetries: 2', 'maxBackoffDelay: 1ms');
    const [key, ...others] = sent('idempotency-key');
    expect(key).toMatch(/./u);
    expect(others).toEqual([key, key]);
    answers.push(status.UNAVAILABLE, status.UNAVAILABLE);
    await expect(callBy('maxRetries: 1', 'maxBackoffDelay: 1ms')).rejects.toThrow(/^UNAVAILABLE: /u);
    expect(calls).toHaveLength(3 + 2);
  });

  it('is tried again when a try takes too long, and not when it is refused', async () => {
    answers.push('nothing');
    await callBy('maxRetries: 1', 'perRetryTimeout: 1s', 'maxBackoffDelay: 1ms');
    expect(calls).toHaveLength(2);
    answers.push(status.NOT_FOUND);
    await expect(callBy('maxRetries: 1')).rejects.toThrow(/^NOT_FOUND: /u);
    expect(calls).toHaveLength(3);
  });

  it('that takes too long is reported with the server and the time', async () => {
    answers.push('nothing');
    await expect(callBy('perRetryTimeout: 1s')).rejects.toThrow(
      `${endpoint}: no complete answer within 1 s; the server may still do what was asked`,
    );
  });

  it('that another program answers is reported in one line, and not tried again', async () => {
    answers.push('no message');
    await expect(callBy('maxRetries: 1')).rejects.toThrow(
      `the answer from ${endpoint} is not one of flightlog; --server names another`,
    );
    expect(calls).toHaveLength(1);
  });

  it('does not time out at once when perRetryTimeout of the profile is zero, which is no limit', async () => {
    await callBy('perRetryTimeout: 0s');
    expect(calls).toHaveLength(1);
  });

  it('is tried once, without an idempotency key, when the profile has no retries', async () => {
    answers.push(status.UNAVAILABLE);
    await expect(callBy()).rejects.toThrow(/^UNAVAILABLE: /u);
    expect(sent('idempotency-key')).toEqual([undefined]);
  });

  it('has the token that the proxy command prints, and fails when that command does', async () => {
    await callBy('proxyCommand: [echo, secret]');
    expect(sent('proxy-authorization')).toEqual(['Bearer secret']);
    await expect(callBy('proxyCommand: ["false"]')).rejects.toThrow(
      'false gives no token: admin.proxyCommand of the profile has failed',
    );
  });
});
