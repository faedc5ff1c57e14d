import { create, fromBinary, type MessageInitShape } from '@bufbuild/protobuf';
import { status as Code } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import {
  EventErrorAlreadyInTerminalStateSchema,
  EventFailureReasonSchema,
  NodeExecutionEventRequestSchema,
} from '../../../../proto/gen/platformidl/admin/event_pb.js';
import type { ReportRequestSchema } from '../../../../proto/gen/platformidl/eventlog/engine_report_pb.js';
import { AdminService } from '../../../../proto/gen/platformidl/service/admin_pb.js';
import { bytesRoute, type Call, RpcError } from '../../../../services/kernel/rpc.js';
import { reportRoutes } from '../../../../services/streams/report/report.js';
import { openReport, type ReportStream } from '../../../support/clients/report-stream.js';
import { overGrpc } from '../../gateway/toy.js';

type Request = MessageInitShape<typeof ReportRequestSchema>;

/** A call of the RPC, with the id of the node that it is about; the test answers it. */
type PendingCall = { readonly node: string; readonly call: Call; readonly answer: (error?: RpcError) => void };
/** The calls in the order in which they came. */
let pending: PendingCall[];
let onCall: () => void = () => undefined;

const createNodeEvent = bytesRoute(AdminService.method.createNodeEvent, (bytes, call) => {
  const { event } = fromBinary(NodeExecutionEventRequestSchema, bytes);
  return new Promise<Uint8Array>((resolve, reject) => {
    const answer = (error?: RpcError): void => {
      call.answeredAt(7n);
      if (error) reject(error);
      else resolve(new Uint8Array());
    };
    pending.push({ node: event?.id?.nodeId ?? '', call, answer });
    call.onQueued?.();
    onCall();
  });
});

/** Waits for the RPC to be called that many times. */
const untilCalled = (count: number): Promise<PendingCall[]> =>
  new Promise((resolve) => {
    onCall = () => {
      if (pending.length >= count) resolve(pending);
    };
    onCall();
  });

/** A report of a node of an execution. */
const node = (sequence: number, execution: string, nodeId = `n${sequence}`): Request => ({
  sequence: BigInt(sequence),
  event: {
    case: 'nodeEvent',
    value: { event: { id: { nodeId, executionId: { project: 'p', domain: 'd', name: execution } } } },
  },
});

let plane: Awaited<ReturnType<typeof overGrpc>>;
let stream: ReportStream;
beforeEach(async () => {
  pending = [];
  onCall = () => undefined;
  plane = await overGrpc([createNodeEvent, ...reportRoutes]);
  stream = openReport(plane.client, { 'x-request-id': 'one', 'idempotency-key': 'key' });
});
afterEach(() => plane.close());

const sequences = (answers: readonly { readonly sequence: bigint }[]): number[] =>
  answers.map(({ sequence }) => Number(sequence));

describe('a stream of reported events', () => {
  it('answers each with its sequence and position, and ends with its requests', async () => {
    stream.send(node(1, 'a'), node(2, 'b'));
    stream.call.end();
    for (const { answer } of await untilCalled(2)) answer();
    expect(await stream.ended).toEqual({ code: 'OK', message: '' });
    expect(sequences(stream.answers)).toEqual([1, 2]);
    for (const { status, position } of stream.answers) {
      expect(status).toBeUndefined();
      expect(position).toBe('log-1.7');
    }
  });

  it('calls the RPC of an event with the request id of the stream and without its idempotency key', async () => {
    stream.send(node(1, 'a'));
    const [first] = await untilCalled(1);
    expect(first?.call).toMatchObject({ requestId: 'one', idempotencyKey: undefined });
    first?.answer();
    await stream.answered(1);
  });

  it('answers the events of one execution in their order, and those of another as soon as it can', async () => {
    stream.send(node(1, 'a'), node(2, 'a'), node(3, 'b'));
    const [first, second, third] = await untilCalled(3);
    second?.answer();
    third?.answer();
    expect(sequences(await stream.answered(1))).toEqual([3]);
    first?.answer();
    expect(sequences(await stream.answered(3))).toEqual([3, 1, 2]);
  });

  it('answers a failed event with its status, its details and its retry delay, and goes on', async () => {
    const reason = create(EventFailureReasonSchema, {
      reason: { case: 'alreadyInTerminalState', value: create(EventErrorAlreadyInTerminalStateSchema) },
    });
    stream.send(node(1, 'a'), node(2, 'b'));
    const [first, second] = await untilCalled(2);
    const details = [{ schema: EventFailureReasonSchema, message: reason }];
    first?.answer(new RpcError('FAILED_PRECONDITION', 'it has ended', details, 1_500));
    second?.answer();
    const [failed, recorded] = await stream.answered(2);
    expect(failed).toMatchObject({
      sequence: 1n,
      retryAfterMs: 1_500,
      status: {
        code: Code.FAILED_PRECONDITION,
        message: 'it has ended',
        details: [{ typeUrl: 'type.googleapis.com/platformidl.admin.EventFailureReason' }],
      },
    });
    expect(recorded?.sequence).toBe(2n);
    expect(recorded?.status).toBeUndefined();
  });

  it('answers an event that is absent, or is no message, with its own error', async () => {
    stream.send({ sequence: 1n });
    const truncated = Uint8Array.of(0x12, 9); // a field of nine bytes, without its bytes
    stream.sendBytes(Uint8Array.of(0x08, 2, 0x1a, truncated.length, ...truncated)); // the sequence 2, a node event
    const [absent, broken] = await stream.answered(2);
    // A request without an event is one of CreateWorkflowEvent, which the server of this test does not have.
    expect(absent).toMatchObject({ sequence: 1n, status: { code: Code.UNIMPLEMENTED } });
    expect(broken).toMatchObject({ sequence: 2n, status: { code: Code.INVALID_ARGUMENT } });
    expect(broken?.status?.message).toContain('cannot decode NodeExecutionEventRequest');
  });

  it('answers what it has taken when a request is no message, and ends with the reason', async () => {
    stream.send(node(1, 'a'));
    stream.sendBytes(Uint8Array.of(0x08)); // the tag of the sequence, without its number
    const [first] = await untilCalled(1);
    first?.answer();
    expect(await stream.ended).toEqual({
      code: 'INVALID_ARGUMENT',
      message: 'malformed ReportRequest: ends inside a number at byte 1',
    });
    expect(sequences(stream.answers)).toEqual([1]);
  });

  it('merges what a request has twice as protobuf does', async () => {
    // The sequence 1, an empty workflow event, an empty node event, the sequence 9, and a node event again.
    const doubled = Uint8Array.of(0x08, 1, 0x12, 0, 0x1a, 0, 0x08, 9, 0x1a, 0);
    stream.sendBytes(doubled);
    const [first] = await untilCalled(1);
    expect(first?.node).toBe('');
    first?.answer();
    expect(sequences(await stream.answered(1))).toEqual([9]);
  });

  it('takes at most 512 events that it has not answered', async () => {
    const events = Array.from({ length: 512 + 88 }, (_, index) => node(index, `e${index}`));
    stream.send(...events);
    await untilCalled(512);
    await new Promise((resolve) => setImmediate(resolve));
    expect(pending).toHaveLength(512);
    for (const { answer } of pending.slice(0, 88)) answer();
    for (const { answer } of await untilCalled(600)) answer();
    expect(await stream.answered(600)).toHaveLength(600);
  });

  it('cancels the call of an event when its client has gone', async () => {
    stream.send(node(1, 'a'));
    const [first] = await untilCalled(1);
    expect(first?.call.isCancelled()).toBe(false);
    stream.call.cancel();
    expect((await stream.ended).code).toBe('CANCELLED');
    const { call } = first!;
    while (!call.isCancelled()) await new Promise((resolve) => setImmediate(resolve));
    first?.answer();
  });

  it('answers what it has taken when the server shuts down, and ends with UNAVAILABLE', async () => {
    stream.send(node(1, 'a'));
    const [first] = await untilCalled(1);
    const closed = plane.server.close({ drainMs: 30_000 });
    first?.answer();
    expect((await stream.ended).code).toBe('UNAVAILABLE');
    expect(sequences(stream.answers)).toEqual([1]);
    plane.client.close();
    await closed;
  });
});
