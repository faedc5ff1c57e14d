import { create, type DescMethod, toBinary } from '@bufbuild/protobuf';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';

import { NodeExecutionEventRequestSchema } from '../../../../proto/gen/platformidl/admin/event_pb.js';
import { TaskCreateRequestSchema } from '../../../../proto/gen/platformidl/admin/task_pb.js';
import { AdminService } from '../../../../proto/gen/platformidl/service/admin_pb.js';
import { AsyncAgentService } from '../../../../proto/gen/platformidl/service/agent_pb.js';
import { type DispatchedCall } from '../../../../services/gateway/dispatch/call.js';
import { dispatcher, type Interceptor } from '../../../../services/gateway/dispatch/dispatch.js';
import { receive } from '../../../../services/gateway/dispatch/receive.js';
import { requestLog } from '../../../../services/gateway/dispatch/request-log.js';
import { RpcError } from '../../../../services/kernel/rpc.js';
import { callOf } from './calls.js';

const { createTask, getTask, createNodeEvent, terminateExecution } = AdminService.method;

const authenticated: Interceptor = (call, next) => {
  call.principal = 'ada';
  return next();
};

/** The lines that a call leaves in a log of this level. */
const linesOf = async (
  level: string,
  call: DispatchedCall,
  handle: () => Promise<Uint8Array> = () => Promise.resolve(Buffer.alloc(7)),
) => {
  const lines: Record<string, unknown>[] = [];
  const logger = pino({ level }, { write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>) });
  await dispatcher([requestLog(logger), authenticated, receive])(call, handle).catch(() => undefined);
  return lines;
};

/** Levels of pino. */
const INFO = 30;
const DEBUG = 20;

const task = create(TaskCreateRequestSchema, { id: { project: 'flytesnacks', domain: 'development', name: 't' } });
const report = toBinary(
  NodeExecutionEventRequestSchema,
  create(NodeExecutionEventRequestSchema, { event: { id: { executionId: { project: 'flytesnacks', name: 'a' } } } }),
);

describe('the log of requests', () => {
  it('has the caller, the RPC, the status, the duration and the size of a write', async () => {
    const traceParent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const headers = { 'x-request-id': 'r1', traceparent: traceParent };
    const bytes = toBinary(TaskCreateRequestSchema, task);
    const [line, ...more] = await linesOf('info', callOf(createTask, { request: bytes, headers, transport: 'rest' }));
    expect(more).toEqual([]);
    expect(line).toMatchObject({
      level: INFO,
      msg: 'request',
      requestId: 'r1',
      rpc: 'AdminService.CreateTask',
      transport: 'rest',
      principal: 'ada',
      project: 'flytesnacks',
      code: 'OK',
      ms: expect.any(Number) as number,
      requestBytes: bytes.length,
      answerBytes: 7,
      traceParent,
    });
  });

  it('has the status of a refused request, and the caller gets the refusal', async () => {
    const refuse = () => Promise.reject(new RpcError('ALREADY_EXISTS', 'no'));
    expect(await linesOf('info', callOf(createTask, { request: task }), refuse)).toMatchObject([
      { level: INFO, code: 'ALREADY_EXISTS', project: 'flytesnacks', answerBytes: 0 },
    ]);
    const passed = dispatcher([requestLog(pino({ level: 'silent' }))])(callOf(createTask), refuse);
    await expect(passed).rejects.toThrow('no');
  });

  it('finds the project of an undecoded request in its bytes', async () => {
    expect(await linesOf('debug', callOf(createNodeEvent, { request: report }))).toMatchObject([
      { project: 'flytesnacks', requestBytes: report.length },
    ]);
  });

  it('has a line for a request that was not received', async () => {
    const refused = callOf(createTask, { receive: () => Promise.reject(new RpcError('INVALID_ARGUMENT', 'no')) });
    expect(await linesOf('info', refused)).toMatchObject([{ code: 'INVALID_ARGUMENT', project: '', requestBytes: 0 }]);
  });

  const levels: readonly (readonly [DescMethod, number])[] = [
    [createTask, INFO],
    [terminateExecution, INFO],
    [AsyncAgentService.method.createTask, INFO],
    [AsyncAgentService.method.getTask, DEBUG],
    [getTask, DEBUG],
    [createNodeEvent, DEBUG],
  ];
  it.each(levels.map(([method, level]) => [method.name, method, level] as const))(
    'has a call of %s at its level, and not where the level of the log is higher',
    async (_name, method, level) => {
      expect(await linesOf('debug', callOf(method))).toMatchObject([{ level }]);
      expect(await linesOf('info', callOf(method))).toHaveLength(level === INFO ? 1 : 0);
      expect(await linesOf('warn', callOf(method))).toEqual([]);
    },
  );
});
