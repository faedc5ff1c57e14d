import { setTimeout } from 'node:timers/promises';
import { create, type DescMessage, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { ContainerError_Kind as Kind, ErrorDocumentSchema } from '../../../proto/gen/platformidl/core/errors_pb.js';
import { type LiteralMap, LiteralMapSchema } from '../../../proto/gen/platformidl/core/literals_pb.js';
import type { Stored } from './object-table.js';
import type { EngineStore } from './propeller.js';
import { until } from '../until.js';
import { ask, type KubernetesServer } from './server.js';

/** A pod of the engine. */
export type Pod = Stored & {
  readonly spec: {
    readonly containers: readonly {
      readonly name: string;
      readonly args: readonly string[];
      readonly env: readonly { readonly name: string; readonly value?: string }[];
    }[];
  } & Record<string, unknown>;
  readonly status: { readonly phase: string };
};

/** The task of a pod, from the arguments of the Python SDK's entry point, such as `hello.greet`. */
export const taskOf = ({ spec }: Pod): string => {
  const args = spec.containers[0]?.args ?? [];
  return `${args[args.indexOf('task-module') + 1]}.${args[args.indexOf('task-name') + 1]}`;
};

/** The value of an argument that a pod has, such as `--inputs`. */
const argument = ({ spec }: Pod, name: string): string => {
  const args = spec.containers[0]?.args ?? [];
  return args[args.indexOf(name) + 1] ?? '';
};

/** The end of a pod: it has written outputs, an error or another file, has crashed, or has no end and runs on. */
export type Outcome =
  | { readonly case: 'outputs'; readonly outputs: MessageInitShape<typeof LiteralMapSchema> }
  | { readonly case: 'error'; readonly code: string; readonly message: string; readonly isRecoverable: boolean }
  | { readonly case: 'file'; readonly name: string; readonly bytes: Uint8Array }
  | { readonly case: 'crash'; readonly exitCode: number }
  | { readonly case: 'running' };

const bytesOf = <Desc extends DescMessage>(desc: Desc, value: MessageInitShape<Desc>): Uint8Array =>
  toBinary(desc, create(desc, value));

/** The inputs that the engine has written for a pod. */
export const inputsOf = async (pod: Pod, store: EngineStore): Promise<LiteralMap> =>
  fromBinary(LiteralMapSchema, await store.read(argument(pod, '--inputs')));

/** The status of a pod whose containers have ended with this exit code. */
const terminated = (pod: Pod, exitCode: number, startedAt: string) => ({
  phase: exitCode === 0 ? 'Succeeded' : 'Failed',
  containerStatuses: pod.spec.containers.map(({ name }) => ({
    name,
    image: '',
    imageID: '',
    ready: false,
    restartCount: 0,
    state: {
      terminated: {
        exitCode,
        startedAt,
        finishedAt: new Date().toISOString(),
        reason: exitCode === 0 ? 'Completed' : 'Error',
      },
    },
  })),
});

const running = (pod: Pod, startedAt: string) => ({
  phase: 'Running',
  conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: startedAt }],
  containerStatuses: pod.spec.containers.map(({ name }) => ({
    name,
    image: '',
    imageID: '',
    ready: true,
    restartCount: 0,
    state: { running: { startedAt } },
  })),
});

const podPath = ({ metadata }: Pod): string => `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}`;

/** Does what the outcome says; returns the exit code, or `undefined` for a pod that runs on. */
const perform = async (pod: Pod, outcome: Outcome, store: EngineStore): Promise<number | undefined> => {
  const write = (name: string, bytes: Uint8Array) => store.write(`${argument(pod, '--output-prefix')}/${name}`, bytes);
  switch (outcome.case) {
    case 'outputs':
      await write('outputs.pb', bytesOf(LiteralMapSchema, outcome.outputs));
      return 0;
    case 'file':
      await write(outcome.name, outcome.bytes);
      return 0;
    case 'error': {
      const { code, message, isRecoverable } = outcome;
      const kind = isRecoverable ? Kind.RECOVERABLE : Kind.NON_RECOVERABLE;
      await write('error.pb', bytesOf(ErrorDocumentSchema, { error: { code, message, kind } }));
      return 0;
    }
    case 'crash':
      return outcome.exitCode;
    case 'running':
      return undefined;
  }
};

/** The simulated kubelets of a cluster. */
export type Kubelet = ReturnType<typeof startKubelet>;

/**
 * Simulates the kubelets of a cluster without nodes: a pod runs and then ends as `act` says, without containers. The
 * next pod begins when this one has ended, or runs on as `act` says.
 */
export const startKubelet = (
  server: KubernetesServer,
  store: EngineStore,
  act: (pod: Pod) => Promise<Outcome> | Outcome,
) => {
  const begun = new Map<string, string>();
  const pods: Pod[] = [];
  /** Sets the status of a pod, also when the API server cannot be reached for a while. */
  const setStatus = (pod: Pod, status: unknown): Promise<unknown> =>
    until(
      () =>
        ask(server, 'PATCH', `${podPath(pod)}/status`, { status }).then(
          (answer) => answer.status < 300 || answer.status === 404,
          () => false,
        ),
      Boolean,
    );
  const play = async (pod: Pod): Promise<void> => {
    const startedAt = new Date().toISOString();
    begun.set(pod.metadata.uid ?? '', startedAt);
    pods.push(pod);
    await setStatus(pod, running(pod, startedAt));
    const exitCode = await perform(pod, await act(pod), store);
    if (exitCode !== undefined) await setStatus(pod, terminated(pod, exitCode, startedAt));
  };
  const stop = new AbortController();
  const ended = (async () => {
    while (!stop.signal.aborted) {
      const { status, body } = await ask(server, 'GET', '/api/v1/pods').catch(() => ({
        status: 0,
        body: { items: [] },
      }));
      for (const pod of (status === 200 ? body.items : []) as unknown as readonly Pod[]) {
        if (!begun.has(pod.metadata.uid ?? '')) await play(pod);
      }
      await setTimeout(50);
    }
  })();
  return {
    /** All pods that have begun, in this order. */
    pods: pods as readonly Pod[],
    stop: () => {
      stop.abort();
      return ended;
    },
  };
};
