import { create } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { Signal } from '../../proto/gen/platformidl/admin/signal_pb.js';
import { NodeExecution_Phase as Phase } from '../../proto/gen/platformidl/core/execution_pb.js';
import { LiteralSchema } from '../../proto/gen/platformidl/core/literals_pb.js';
import { SimpleType } from '../../proto/gen/platformidl/core/types_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { SignalService } from '../../proto/gen/platformidl/service/signal_pb.js';
import { type ControlPlane, register, startControlPlane } from '../support/processes/control-plane.js';
import { fixtureFolder, withNeeds } from '../support/requests/fixtures.js';
import { literal } from '../support/requests/hello.js';
import { until } from '../support/until.js';

const id = { project: 'flytesnacks', domain: 'development', name: 'editorial-run' };
const { method } = SignalService;

/** The nodes of the execution that are gates and wait for a signal. */
const GATES = ['n1', 'n2', 'n3'];

const boolean = (value: boolean) =>
  ({
    value: {
      case: 'scalar',
      value: { value: { case: 'primitive', value: { value: { case: 'boolean', value } } } },
    },
  }) as const;

/** A value of the signal's type, as a person would give it. */
const answerTo = ({ type }: Signal) => {
  const simple = type?.type.case === 'simple' ? type.type.value : SimpleType.NONE;
  if (simple === SimpleType.BOOLEAN) return create(LiteralSchema, boolean(true));
  return create(LiteralSchema, literal(simple === SimpleType.INTEGER ? 7n : 'a title for the test'));
};

describe('gates that wait for their signals', () => {
  let plane: ControlPlane;
  const stop = new AbortController();
  let engine: Promise<unknown>;
  beforeAll(async () => {
    plane = await startControlPlane();
    await register(plane.grpc, withNeeds('08-gates'));
    const launch = fixtureFolder('08-gates').entries.find(({ kind }) => kind === 'execution')!;
    expect((await plane.grpc.send(launch.method, launch.bytes)).code).toBe('OK');
    engine = plane.run({ gates: 'wait', untilIdle: false }, stop.signal);
  });
  afterAll(async () => {
    stop.abort();
    await engine;
    await plane.close();
  });

  const signals = async () => (await plane.grpc.call(method.listSignals, { workflowExecutionId: id })).signals;
  const phases = async () => {
    const { nodeExecutions } = await plane.grpc.call(AdminService.method.listNodeExecutions, {
      workflowExecutionId: id,
    });
    return new Map(nodeExecutions.map((node) => [node.id!.nodeId, node.closure!.phase]));
  };
  /** True when the gates that wait for a signal are in a phase; a fourth gate waits for a time. */
  const gatesAre = (nodes: ReadonlyMap<string, Phase>, phase: Phase): boolean =>
    GATES.every((gate) => nodes.get(gate) === phase);

  /** Gives a value to every signal that has none, and returns the ids of these signals. */
  const answerAll = async (): Promise<readonly string[]> => {
    const open = (await signals()).filter(({ value }) => value === undefined);
    for (const signal of open) await plane.grpc.call(method.setSignal, { id: signal.id!, value: answerTo(signal) });
    return open.map((signal) => signal.id!.signalId);
  };

  it('are RUNNING until they get a value, and SUCCEEDED then; each signal is recorded and answered once', async () => {
    await until(signals, (found) => found.length > 0);
    await until(phases, (nodes) => gatesAre(nodes, Phase.RUNNING));
    const answered: string[] = [];
    const answerOn = async () => {
      answered.push(...(await answerAll()));
      return phases();
    };
    await until(answerOn, (nodes) => gatesAre(nodes, Phase.SUCCEEDED));
    expect(answered.length).toBe(new Set(answered).size);
    expect(answered.length).toBeGreaterThan(1);
    const created = (await plane.events()).filter(({ type }) => type === 'SignalCreated');
    expect(created).toHaveLength(answered.length);
  });
});
