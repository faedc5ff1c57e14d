import { create, fromBinary } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ExecutionCreateRequestSchema } from '../../../proto/gen/platformidl/admin/execution_pb.js';
import { LaunchPlanCreateRequestSchema } from '../../../proto/gen/platformidl/admin/launch_plan_pb.js';
import { type ParameterMap, ParameterMapSchema } from '../../../proto/gen/platformidl/core/interface_pb.js';
import { type LiteralMap, LiteralMapSchema } from '../../../proto/gen/platformidl/core/literals_pb.js';
import { ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { resolveInputs, type ResolvedInputs } from '../../../services/compiler/launch-inputs.js';
import { identifierKey } from '../../../services/compiler/identifier-key.js';
import { expectedInputs, plannedInputsProblem } from '../../../services/compiler/launch-plan-inputs.js';
import { literalMapProblem } from '../../../services/compiler/types/literal-map.js';
import { singleTaskWorkflow } from '../../../services/compiler/single-task.js';
import * as t from '../../../services/compiler/types/types.js';
import { fixtureFolders, type InvalidEntry, invalidEntries } from '../../support/requests/fixtures.js';
import { registeredFixtures } from './registered.js';

const registered = registeredFixtures();
const recorded = fixtureFolders().flatMap(({ entries }) => entries);
/** The invalid requests whose numbers are from `first` to `last`. */
const invalidBetween = (first: number, last: number): readonly InvalidEntry[] =>
  invalidEntries().filter(({ name }) => {
    const number = Number(name.slice(0, 3));
    return number >= first && number <= last;
  });

/** The inputs of the workflow, and the default and fixed inputs of a launch plan of it. */
const plannedOf = (bytes: Uint8Array) => {
  const { spec } = fromBinary(LaunchPlanCreateRequestSchema, bytes);
  const { defaultInputs, fixedInputs, workflowId } = spec!;
  return {
    workflowInputs: registered.workflows.get(identifierKey(workflowId!))!.interface?.inputs,
    defaultInputs,
    fixedInputs,
  };
};

/** The fixed inputs of the recorded launch plans. */
const fixedOf = new Map(
  recorded
    .filter(({ kind }) => kind === 'launch_plan')
    .map(({ bytes }) => {
      const { id, spec } = fromBinary(LaunchPlanCreateRequestSchema, bytes);
      return [identifierKey(id!), spec?.fixedInputs] as const;
    }),
);

/** The parameters of a launch plan, or of a task that is launched by itself. */
const expectedOf = (id: Parameters<typeof identifierKey>[0], type: ResourceType): ParameterMap | undefined =>
  type === ResourceType.TASK
    ? singleTaskWorkflow(registered.tasks.get(identifierKey(id))!.template!).expectedInputs
    : registered.launchPlans.get(identifierKey(id))!.expectedInputs;

/** The complete inputs of a launch, or the problem because of which it is refused. */
const resolvedOf = (bytes: Uint8Array): ResolvedInputs => {
  const { spec, inputs } = fromBinary(ExecutionCreateRequestSchema, bytes);
  const id = spec!.launchPlan!;
  const problem = literalMapProblem('inputs', inputs);
  if (problem !== undefined) return { problem };
  return resolveInputs(expectedOf(id, id.resourceType), fixedOf.get(identifierKey(id)), inputs);
};

describe('the inputs of a launch plan', () => {
  test.each(recorded.filter(({ kind }) => kind === 'launch_plan'))('$path are valid', ({ bytes }) => {
    expect(plannedInputsProblem(plannedOf(bytes))).toBeUndefined();
  });

  test.each(invalidBetween(57, 65))('are refused, and the text names the problem: $name', ({ bytes, textNames }) => {
    const text = plannedInputsProblem(plannedOf(bytes)) ?? 'valid';
    for (const word of textNames!.split(' ')) expect(text).toContain(word);
  });

  test('are expected unless they are fixed, and required unless they have a default', () => {
    const plan = recorded.find(({ path }) => path.startsWith('05-launch-plans/004'))!;
    const planned = plannedOf(plan.bytes);
    const { parameters } = expectedInputs(planned);
    const fixed = Object.keys(planned.fixedInputs?.literals ?? {});
    const defaults = Object.keys(planned.defaultInputs?.parameters ?? {});
    const all = Object.keys(planned.workflowInputs?.variables ?? {});
    expect(fixed.length * defaults.length).toBeGreaterThan(0);
    expect(Object.keys(parameters)).toEqual(all.filter((name) => !fixed.includes(name)).sort());
    for (const [name, { behavior }] of Object.entries(parameters))
      expect(behavior.case).toBe(defaults.includes(name) ? 'default' : 'required');
  });

  test('are refused when the workflow has none', () => {
    const planned = { workflowInputs: undefined, defaultInputs: undefined, fixedInputs: undefined };
    const literals = create(LiteralMapSchema, { literals: { a: { value: { case: 'scalar', value: {} } } } });
    const parameters = create(ParameterMapSchema, {
      parameters: { a: { var: { type: t.INTEGER }, behavior: { case: 'required', value: true } } },
    });
    expect(plannedInputsProblem(planned)).toBeUndefined();
    expect(plannedInputsProblem({ ...planned, fixedInputs: literals })).toBe(
      'invalid launch plan fixed inputs, expected none but found 1',
    );
    expect(plannedInputsProblem({ ...planned, defaultInputs: parameters })).toBe(
      'invalid launch plan default inputs, expected none but found 1',
    );
  });

  test('cannot come from an artifact query', () => {
    const defaultInputs = create(ParameterMapSchema, {
      parameters: { a: { var: { type: t.INTEGER }, behavior: { case: 'artifactQuery', value: {} } } },
    });
    expect(plannedInputsProblem({ workflowInputs: undefined, defaultInputs, fixedInputs: undefined })).toBe(
      'artifact mode not enabled but query found default_inputs a',
    );
  });
});

describe('the inputs of an execution', () => {
  const executions = recorded.filter(({ kind }) => kind === 'execution');

  test.each(executions)('$path are complete', ({ bytes }) => {
    const { spec, inputs } = fromBinary(ExecutionCreateRequestSchema, bytes);
    const id = spec!.launchPlan!;
    const result = resolvedOf(bytes);
    if ('problem' in result) throw new Error(result.problem);
    const names = [
      ...Object.keys(expectedOf(id, id.resourceType)?.parameters ?? {}),
      ...Object.keys(fixedOf.get(identifierKey(id))?.literals ?? {}),
    ];
    expect(Object.keys(result.inputs.literals)).toEqual([...new Set(names)].sort());
    for (const [name, literal] of Object.entries(inputs?.literals ?? {}))
      expect(result.inputs.literals[name]).toEqual(literal);
  });

  test.each(invalidBetween(89, 97))('are refused, and the text names the problem: $name', ({ bytes, textNames }) => {
    const result = resolvedOf(bytes);
    const text = 'problem' in result ? result.problem : 'complete';
    for (const word of textNames!.split(' ')) expect(text).toContain(word);
  });

  const inputA = (integer: bigint): LiteralMap =>
    create(LiteralMapSchema, {
      literals: {
        a: {
          value: {
            case: 'scalar',
            value: { value: { case: 'primitive', value: { value: { case: 'integer', value: integer } } } },
          },
        },
      },
    });
  const parameter = (behavior: NonNullable<ParameterMap['parameters'][string]>['behavior']) =>
    create(ParameterMapSchema, { parameters: { a: { var: { type: t.INTEGER }, behavior } } });

  test('that are given replace the default', () => {
    const expected = parameter({ case: 'default', value: inputA(1n).literals['a']! });
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 1n << 60n }), (value) => {
        expect(resolveInputs(expected, undefined, inputA(value))).toEqual({ inputs: inputA(value) });
        expect(resolveInputs(expected, undefined, undefined)).toEqual({ inputs: inputA(1n) });
      }),
    );
  });

  test('that are fixed cannot be given, not even when the plan expects them', () => {
    const expected = parameter({ case: 'required', value: true });
    expect(resolveInputs(undefined, inputA(1n), inputA(2n))).toEqual({ problem: 'invalid input a' });
    expect(resolveInputs(expected, inputA(1n), inputA(2n))).toEqual({
      problem: 'fixed_inputs a cannot be overridden',
    });
    expect(resolveInputs(undefined, inputA(1n), undefined)).toEqual({ inputs: inputA(1n) });
  });
});
