import { describe, expect, it } from 'vitest';

import {
  NodeExecution_Phase as NodePhase,
  WorkflowExecution_Phase as Phase,
} from '../../../proto/gen/platformidl/core/execution_pb.js';
import { isCastable } from '../../../services/compiler/types/castability.js';
import { typeOfLiteral } from '../../../services/compiler/types/literal-type.js';
import { readDynamicClosures } from '../../../engine/definitions.js';
import { isNodeEnd, isTaskEnd } from '../../../engine/walk/ledger.js';
import { type Reported, walk } from './fake-control-plane.js';
import { type FixtureExecution, fixtureExecutions, registeredWorld } from './world.js';

const world = registeredWorld();
const executions = fixtureExecutions(world);
const closures = readDynamicClosures('test/fixtures/06-dynamic/dynamic');
const dynamicClosure = (name: string) => closures.get(name);

/** True when a branch has taken a case that fails the execution. */
const takesFailBranch = ({ nodes }: Reported): boolean =>
  [...nodes.values()].some(
    ({ phase, outputResult }) =>
      phase === NodePhase.FAILED && outputResult.case === 'error' && outputResult.value.code === 'UserDefinedError',
  );

/** The outputs in the interface of the workflow that are missing or of another type. */
const outputProblems = ({ launched }: FixtureExecution, { result }: Reported): readonly string[] => {
  const wanted = launched.closure.primary?.template?.interface?.outputs?.variables ?? {};
  return Object.entries(wanted).flatMap(([name, { type }]) => {
    const given = result[name] && typeOfLiteral(result[name]);
    return given && isCastable(given, type!) ? [] : [name];
  });
};

describe.each(executions)('$fixture $name', (execution) => {
  const { execution: reported, children } = walk(world, execution.name, execution.launched, { dynamicClosure });
  const all = [reported, ...children.values()];

  it('fails only where its graph takes a fail branch, else succeeds', () => {
    const fails = all.some(takesFailBranch);
    expect(Phase[reported.phase]).toBe(fails ? 'FAILED' : 'SUCCEEDED');
  });

  it('leaves no node and no task open', () => {
    for (const { nodes, tasks } of all) {
      expect([...nodes.values()].filter(({ phase }) => !isNodeEnd(phase))).toEqual([]);
      expect([...tasks.values()].filter((phase) => !isTaskEnd(phase))).toEqual([]);
    }
  });

  it('has outputs that can be cast to the types of its interface when it succeeds', () => {
    if (reported.phase === Phase.SUCCEEDED) expect(outputProblems(execution, reported)).toEqual([]);
  });

  it('sends the same reports again with the same seed', () => {
    const again = walk(world, execution.name, execution.launched, { dynamicClosure }).execution;
    expect(again.reports).toEqual(reported.reports);
  });
});
