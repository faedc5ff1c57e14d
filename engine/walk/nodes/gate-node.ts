import { create } from '@bufbuild/protobuf';
import { durationMs } from '@bufbuild/protobuf/wkt';
import { NodeExecution_Phase as Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import { type Literal } from '../../../proto/gen/platformidl/core/literals_pb.js';
import { type LiteralType, LiteralTypeSchema, SimpleType } from '../../../proto/gen/platformidl/core/types_pb.js';
import {
  type GateNode,
  type SignalCondition,
  type SleepCondition,
} from '../../../proto/gen/platformidl/core/workflow_pb.js';
import { randomSource } from '../values/random.js';
import { awaitAnswer, type WalkOutcome, type Walk } from '../effects.js';
import { type Literals } from '../values/literal-values.js';
import { failure, reportNode } from '../reports.js';
import { type NodeAt, type ExecutionWalk } from '../run.js';
import { drawLiteral } from '../values/typed-literals.js';

const BOOLEAN = create(LiteralTypeSchema, { type: { case: 'simple', value: SimpleType.BOOLEAN } });

const awaitSignal = (signalId: string, type: LiteralType): Walk<Literal> =>
  awaitAnswer<Literal>((reply) => ({ kind: 'await-signal', signalId, type, reply }));

const isTrue = (literal: Literal): boolean => {
  const value = literal.value.case === 'scalar' ? literal.value.value.value : undefined;
  return value?.case === 'primitive' && value.value.value.case === 'boolean' && value.value.value.value;
};

function* signalled(run: ExecutionWalk, at: NodeAt, signal: SignalCondition): Walk<WalkOutcome> {
  const type = signal.type ?? BOOLEAN;
  const value =
    run.gates === 'wait'
      ? yield* awaitSignal(signal.signalId, type)
      : drawLiteral(randomSource(run.seed, at.id, 0), type);
  return { kind: 'succeeded', outputs: { [signal.outputVariableName]: value } };
}

function* approved(run: ExecutionWalk, signalId: string, inputs: Literals): Walk<WalkOutcome> {
  const isApproved = run.gates === 'auto' || isTrue(yield* awaitSignal(signalId, BOOLEAN));
  if (isApproved) return { kind: 'succeeded', outputs: inputs };
  return { kind: 'failed', error: failure('ApprovalDenied', `${signalId} was not approved`) };
}

function* slept(run: ExecutionWalk, at: NodeAt, sleep: SleepCondition): Walk<WalkOutcome> {
  const milliseconds = sleep.duration ? durationMs(sleep.duration) : 0;
  if (run.gates === 'wait') {
    yield* awaitAnswer<undefined>((reply) => ({
      kind: 'await-time',
      nodeId: at.id,
      milliseconds,
      reply: () => reply(undefined),
    }));
  }
  return { kind: 'succeeded', outputs: {} };
}

/** Walks a node that waits for an approval, a value or a time; with `gates: 'auto'` it does not wait. */
export function* walkGate(run: ExecutionWalk, at: NodeAt, gate: GateNode, inputs: Literals): Walk<WalkOutcome> {
  yield* reportNode(run, at, Phase.RUNNING);
  const condition = gate.condition;
  switch (condition.case) {
    case 'signal':
      return yield* signalled(run, at, condition.value);
    case 'approve':
      return yield* approved(run, condition.value.signalId, inputs);
    case 'sleep':
      return yield* slept(run, at, condition.value);
    case undefined:
      return { kind: 'failed', error: failure('NoCondition', `gate ${at.id} has no condition`) };
  }
}
