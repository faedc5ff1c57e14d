import { Server, ServerCredentials } from '@grpc/grpc-js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { permanentProblem } from '../../../services/main/log/event-store-problem.js';
import { NodeUnreached } from '../../../services/store/eventstore/eventstore-fault.js';
import { nodeToCall } from '../../../services/store/eventstore/nodes/discovery.js';
import { nodeSettings } from '../../../services/store/eventstore/nodes/settings.js';

/** Starts a gRPC server without TLS and without services. */
const otherServer = async (): Promise<string> => {
  const server = new Server();
  onTestFinished(() => server.forceShutdown());
  const port = await new Promise<number>((resolve) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (_error, bound) => resolve(bound));
  });
  return `127.0.0.1:${port}`;
};

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
