import { create, type DescMethodUnary, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { Server, ServerCredentials, type ServerDuplexStream, status } from '@grpc/grpc-js';
import type { WorkflowExecutionEvent } from '../../../proto/gen/platformidl/event/event_pb.js';
import { WorkflowExecution_Phase as Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import {
  WorkRequestSchema,
  type WorkRequest,
  WorkResponseSchema,
} from '../../../proto/gen/platformidl/eventlog/engine_work_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import type { Launched } from '../../unit/engine/world.js';

type Answer = NonNullable<MessageInitShape<typeof WorkResponseSchema>['message']>;
type Stream = ServerDuplexStream<Buffer, Buffer>;

/**
 * A stand-in for the control plane with one bridge: on a stream of `EngineService.Work` it sends what the test says,
 * and records what the bridge sends. It enforces nothing: leases, order and fencing are tested on the real service.
 */
export interface WorkServer {
  readonly endpoint: string;
  /** The messages of all streams in their order, without heartbeats. */
  readonly received: readonly WorkRequest['message'][];
  /** The events that the bridge has reported. */
  readonly events: readonly WorkflowExecutionEvent[];
  /** The phases that GetExecution answers, by the execution's name; RUNNING for one without. */
  readonly phases: Map<string, Phase>;
  /** Gives the bridge a lease of an execution. */
  launch(name: string, launched: Launched, options?: LaunchOptions): void;
  /** Tells the bridge to abort an execution; `lease` is the number of its lease, 1 by default. */
  abort(name: string, lease?: bigint): void;
  /** Reports to the bridge that an execution has SUCCEEDED. */
  ended(name: string, lease?: bigint): void;
  /** The leases, by the execution's name, that a bridge which joins still holds. */
  readonly leases: Map<string, bigint>;
  /** Ends the stream with UNAVAILABLE. */
  cut(): void;
  close(): void;
}

export type LaunchOptions = {
  /** The number of the lease: 1 by default, and more when an engine had the execution before. */
  readonly lease?: bigint;
  /** True for an execution that an engine has reported as RUNNING before. */
  readonly isStarted?: boolean;
  readonly createdAtMs?: number;
};

const idOf = (name: string) => ({ project: 'flytesnacks', domain: 'development', name });

/** The definition of a unary RPC, as `addService` takes it. */
const unary = ({ parent, name, input, output }: DescMethodUnary) => ({
  path: `/${parent.typeName}/${name}`,
  requestStream: false,
  responseStream: false,
  requestSerialize: (bytes: Buffer) => bytes,
  requestDeserialize: (bytes: Buffer) => fromBinary(input, bytes),
  responseSerialize: (init: Record<string, unknown>) => Buffer.from(toBinary(output, create(output, init))),
  responseDeserialize: (bytes: Buffer) => bytes,
});

const asIs = (bytes: Buffer): Buffer => bytes;
const { createWorkflowEvent, getExecution } = AdminService.method;

/** Starts the server on a free port. */
export const startWorkServer = async (): Promise<WorkServer> => {
  const received: WorkRequest['message'][] = [];
  const events: WorkflowExecutionEvent[] = [];
  const phases = new Map<string, Phase>();
  const leases = new Map<string, bigint>();
  let current: Stream | undefined;

  const send = (message: Answer, to = current): void =>
    void to?.write(Buffer.from(toBinary(WorkResponseSchema, create(WorkResponseSchema, { message }))));
  const leaseOf = (name: string, number: bigint) => ({ execution: idOf(name), number });

  const work = (stream: Stream): void => {
    stream.on('error', () => undefined);
    stream.on('data', (data: Buffer) => {
      const { message } = fromBinary(WorkRequestSchema, data);
      if (message.case !== 'heartbeat') received.push(message);
      if (message.case === 'join') {
        current = stream;
        const held = [...leases].map(([name, number]) => leaseOf(name, number));
        send({ case: 'joined', value: { session: 's', heartbeatInterval: { seconds: 1n }, leases: held } });
      }
      if (message.case === 'accept' || message.case === 'reject')
        send(
          { case: 'answer', value: { ...(message.value.lease && { lease: message.value.lease }), code: status.OK } },
          stream,
        );
    });
  };

  const server = new Server();
  server.addService(
    {
      work: {
        path: '/platformidl.eventlog.EngineService/Work',
        requestStream: true,
        responseStream: true,
        requestSerialize: asIs,
        requestDeserialize: asIs,
        responseSerialize: asIs,
        responseDeserialize: asIs,
      },
    },
    { work },
  );
  type Unary = (call: { readonly request: never }, answer: (error: null, value: object) => void) => void;
  const handlers: Record<string, Unary> = {
    event: ({ request }, answer) => {
      events.push((request as { readonly event: WorkflowExecutionEvent }).event);
      answer(null, {});
    },
    execution: ({ request }, answer) => {
      const { name } = (request as { readonly id: { readonly name: string } }).id;
      answer(null, { id: idOf(name), closure: { phase: phases.get(name) ?? Phase.RUNNING } });
    },
  };
  server.addService({ event: unary(createWorkflowEvent), execution: unary(getExecution) }, handlers as never);
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  );
  return {
    endpoint: `127.0.0.1:${port}`,
    received,
    events,
    phases,
    leases,
    launch: (name, { closure, inputs }, { lease = 1n, isStarted = false, createdAtMs = 1_000 } = {}) => {
      leases.set(name, lease);
      // As the control plane does: no progress with the first lease, and QUEUED before the first report.
      const progress = lease === 1n ? {} : { progress: { phase: isStarted ? Phase.RUNNING : Phase.QUEUED } };
      const content = {
        workflow: { case: 'closure' as const, value: closure },
        input: { case: 'inputs' as const, value: inputs },
      };
      const createdAt = timestampFromMs(createdAtMs);
      send({ case: 'launch', value: { lease: leaseOf(name, lease), ...content, createdAt, ...progress } });
    },
    abort: (name, lease = 1n) => send({ case: 'abort', value: { lease: leaseOf(name, lease), cause: 'test' } }),
    ended: (name, lease = 1n) => {
      leases.delete(name);
      phases.set(name, Phase.SUCCEEDED);
      const change = { case: 'ended' as const, value: { phase: Phase.SUCCEEDED } };
      send({ case: 'update', value: { lease: leaseOf(name, lease), change } });
    },
    cut: () => void current?.emit('error', { code: status.UNAVAILABLE, details: 'cut by the test' }),
    close: () => server.forceShutdown(),
  };
};
