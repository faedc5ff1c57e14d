import {
  create,
  type DescMessage,
  type DescMethod,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import {
  Metadata,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  status,
} from '@grpc/grpc-js';

import { ResourceSchema } from '../../../proto/gen/platformidl/admin/agent_pb.js';
import { TaskExecution_Phase as Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import {
  AgentMetadataService,
  AsyncAgentService,
  SyncAgentService,
} from '../../../proto/gen/platformidl/service/agent_pb.js';

/** An agent server with its tasks in memory: the first GetTask of a task answers RUNNING, later ones SUCCEEDED. */
export type ExampleAgent = {
  readonly endpoint: string;
  /** The value of the setting `agents` that names this agent alone. */
  readonly configured: () => string;
  /** The tasks that clients have deleted, as `AGENT/OUTPUT_PREFIX`. */
  readonly deleted: readonly string[];
  readonly close: () => void;
};

/** The number of log lines that the agent has, however many are requested. */
const MAX_LINES = 10n;

/** The longest message of a status, in characters; it is sent in headers, whose size is limited. */
const MAX_DETAILS = 1_000;

const raw = (bytes: Buffer): Buffer => bytes;

const refused = (code: status, details: string) => ({
  name: 'refused',
  message: details,
  code,
  details: details.slice(0, MAX_DETAILS),
  metadata: new Metadata(),
});

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString();

const encoded = <Desc extends DescMessage>(schema: Desc, message: MessageInitShape<Desc>): Buffer =>
  Buffer.from(toBinary(schema, create(schema, message)));

/** Starts an agent that takes tasks of every type but `query`: the creation of these fails with UNKNOWN. */
export const startExampleAgent = async (name: string): Promise<ExampleAgent> => {
  /** The number of times that GetTask was called, by task. */
  const reads = new Map<string, number>();
  const deleted: string[] = [];
  const server = new Server();

  const path = (method: DescMethod): string =>
    `/${method.parent.typeName.replace('platformidl', 'flyteidl')}/${method.name}`;
  const unary = <I extends DescMessage, O extends DescMessage>(
    method: DescMethod & { readonly input: I; readonly output: O },
    answer: (request: MessageShape<I>) => MessageInitShape<O> | ReturnType<typeof refused>,
  ): void => {
    const handle = (call: ServerUnaryCall<Buffer, Buffer>, respond: sendUnaryData<Buffer>): void => {
      const answered = answer(fromBinary(method.input, call.request));
      if ('code' in answered && 'details' in answered) respond(answered);
      else respond(null, encoded(method.output, answered));
    };
    server.register(path(method), handle, raw, raw, 'unary');
  };

  const { createTask, getTask, deleteTask, getTaskMetrics, getTaskLogs } = AsyncAgentService.method;
  unary(createTask, ({ template, outputPrefix }) =>
    template?.type === 'query'
      ? refused(status.UNKNOWN, 'Traceback: the table is locked')
      : { resourceMeta: Buffer.from(`${name}/${outputPrefix}`) },
  );
  unary(getTask, ({ resourceMeta }) => {
    const key = text(resourceMeta);
    if (!key.startsWith(`${name}/`)) return refused(status.NOT_FOUND, `nothing is known of ${key}`);
    const times = (reads.get(key) ?? 0) + 1;
    reads.set(key, times);
    return { resource: create(ResourceSchema, { phase: times > 1 ? Phase.SUCCEEDED : Phase.RUNNING, message: key }) };
  });
  unary(deleteTask, ({ resourceMeta }) => {
    deleted.push(text(resourceMeta));
    return {};
  });
  unary(getTaskMetrics, ({ queries }) => ({ results: queries.map((metric) => ({ metric })) }));
  unary(AgentMetadataService.method.getAgent, () => ({ agent: { name } }));
  unary(AgentMetadataService.method.listAgents, () => ({
    agents: [{ name, supportedTaskCategories: [{ name: 'sensor' }] }],
  }));

  const logs = (call: ServerWritableStream<Buffer, Buffer>): void => {
    const { lines } = fromBinary(getTaskLogs.input, call.request);
    for (let line = 1n; line <= lines && line <= MAX_LINES; line++) {
      const body = { structuredLines: [{ message: `line ${line}` }] };
      call.write(encoded(getTaskLogs.output, { part: { case: 'body', value: body } }));
    }
    call.end();
  };
  server.register(path(getTaskLogs), logs, raw, raw, 'serverStream');

  const { executeTaskSync } = SyncAgentService.method;
  const execute = (call: ServerDuplexStream<Buffer, Buffer>): void => {
    call.on('data', (bytes: Buffer) => {
      const { part } = fromBinary(executeTaskSync.input, bytes);
      if (part.case === 'header') {
        const header = { resource: { phase: Phase.SUCCEEDED, message: part.value.outputPrefix } };
        call.write(encoded(executeTaskSync.output, { res: { case: 'header', value: header } }));
      } else if (part.case === 'inputs') {
        call.write(encoded(executeTaskSync.output, { res: { case: 'outputs', value: part.value } }));
      }
    });
    call.on('end', () => call.end());
  };
  server.register(path(executeTaskSync), execute, raw, raw, 'bidi');

  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
  const endpoint = `127.0.0.1:${port}`;
  return {
    endpoint,
    configured: () => JSON.stringify([{ name, endpoint }]),
    deleted,
    close: () => server.forceShutdown(),
  };
};
