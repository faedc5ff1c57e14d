import { randomBytes } from 'node:crypto';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ClusterInfoSchema, Gossip } from '../../../proto/gen/event_store/client/gossip_pb.js';
import { serveEncoded } from '../../../services/gateway/grpc/encoded.js';
import type { EncodedHandler } from '../../../services/kernel/ports/encoded-calls.js';
import { permanentProblem } from '../../../services/main/log/event-store-problem.js';
import { NodeUnreached } from '../../../services/store/eventstore/eventstore-fault.js';
import { nodeToCall } from '../../../services/store/eventstore/nodes/discovery.js';
import { nodeSettings } from '../../../services/store/eventstore/nodes/settings.js';
import { encodedMessage } from '../../../services/streams/eventstore/codec.js';
import { failedCall } from '../../../services/streams/eventstore/failure.js';
import { clusterOfOne } from '../../../services/streams/eventstore/node.js';

const neverRead = (): Promise<bigint> => Promise.reject(new Error('the gossip of gRPC does not have the head'));

/** Starts a gRPC server without TLS and without services. */
const otherServer = async (): Promise<string> => {
  const server = new Server();
  onTestFinished(() => server.forceShutdown());
  const port = await new Promise<number>((resolve) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (_error, bound) => resolve(bound));
  });
  return `127.0.0.1:${port}`;
};

/** The error of a client of this address; in these tests no server listens on the ports 1 to 3. */
const errorOf = async (url: string): Promise<Error> => {
  const error: unknown = await nodeToCall(nodeSettings(url)).catch((thrown: unknown) => thrown);
  return new NodeUnreached(error);
};

describe('a cluster that is named by several DNS names', () => {
  it('is asked at those that resolve, although others do not', async () => {
    const error = await errorOf('esdb+discover://no-such-host.invalid:1,127.0.0.1:2?tls=false');
    expect(error.message).toBe(
      'no node of the cluster answers: 127.0.0.1:2 (No connection established: connect ECONNREFUSED 127.0.0.1:2)',
    );
  });

  it('is not found when none of them resolves', async () => {
    const error = await errorOf('esdb+discover://no-such-host.invalid:1,no-other-host.invalid:2?tls=false');
    expect(error.message).toMatch(/no-such-host\.invalid/u);
  });
});

describe('a node that names itself as clients have addressed it', () => {
  it('is found by its DNS name, and not by the address of that name', async () => {
    const node = { instanceId: randomBytes(16), address: '0.0.0.0', port: () => 0, head: neverRead, now: Date.now };
    const gossip: EncodedHandler = async (call) => {
      await call.request();
      await call.send(encodedMessage(ClusterInfoSchema, clusterOfOne(node, call.header(':authority'))));
    };
    const server = await serveEncoded({
      ...{ protocol: 'EventStoreDB protocol', host: '127.0.0.1', port: 0, maxMessageBytes: 1_000 },
      handlers: new Map([[`/${Gossip.typeName}/Read`, gossip]]),
      statusOf: (error, path) => failedCall({ error: () => undefined }, path, error),
    });
    onTestFinished(() => server.close({ drainMs: 0 }));
    const found = await nodeToCall(nodeSettings(`esdb+discover://localhost:${server.port}?tls=false`));
    expect(found).toMatchObject({ host: 'localhost', port: server.port });
  });
});

describe('a cluster of which no node answers', () => {
  it('is described by each host with its error', async () => {
    const error = await errorOf('esdb://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3?tls=false');
    const [one, two, three] = [1, 2, 3].map((port) => `127.0.0.1:${port}`);
    const refused = 'No connection established: connect ECONNREFUSED';
    expect(error.message).toBe(
      `no node of the cluster answers: ${one} (${refused} ${one}), ${two} (${refused} ${two}), ${three} (${refused} ${three})`,
    );
    expect(permanentProblem(error)).toBeUndefined();
  });

  it('has a permanent problem only when each host has one', async () => {
    const [one, two] = [await otherServer(), await otherServer()];
    const other = 'a gRPC server answers that is not an EventStoreDB';
    expect(permanentProblem(await errorOf(`esdb://${one},${two}?tls=false`))).toBe(other);
    expect(permanentProblem(await errorOf(`esdb://${one},127.0.0.1:1?tls=false`))).toBeUndefined();
    expect(permanentProblem(await errorOf(`esdb://${one},${two}`))).toBe(
      'the server does not speak TLS: add ?tls=false to the address',
    );
  });
});
