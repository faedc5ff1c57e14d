import { fromBinary } from '@bufbuild/protobuf';
import { describe, expect, test } from 'vitest';

import { TaskCreateRequestSchema } from '../../../proto/gen/platformidl/admin/task_pb.js';
import {
  type CompiledWorkflow,
  CompiledWorkflowClosureSchema,
} from '../../../proto/gen/platformidl/core/compiler_pb.js';
import type { CompiledWorkflowClosure } from '../../../proto/gen/platformidl/core/compiler_pb.js';
import { DynamicJobSpecSchema } from '../../../proto/gen/platformidl/core/dynamic_job_pb.js';
import type { Node, WorkflowTemplate } from '../../../proto/gen/platformidl/core/workflow_pb.js';
import { CompiledTaskSchema } from '../../../proto/gen/platformidl/core/compiler_pb.js';
import { collectedErrors } from '../../../services/compiler/compile-error.js';
import { keyOf } from '../../../services/compiler/identifier-key.js';
import { END, everyNode, START } from '../../../services/compiler/node-walk.js';
import { requirementsOf } from '../../../services/compiler/requirements.js';
import { compileTask } from '../../../services/compiler/task.js';
import { taskResourcesProblem } from '../../../services/compiler/task-resources.js';
import { compileWorkflow } from '../../../services/compiler/workflow.js';
import { canonicalBytes } from '../../../services/kernel/canonical.js';
import { againEntries, fixtureBytes, fixtureFolders, invalidEntries, type NodeCounts } from '../../support/fixtures.js';
import { timed } from '../../support/timed.js';
import { compileRequest, registeredFixtures, workflowRequest } from './registered.js';

const registered = registeredFixtures();

const compiled = (bytes: Uint8Array): CompiledWorkflowClosure => {
  const result = compileRequest(workflowRequest(bytes), registered);
  if ('errors' in result) throw new Error(collectedErrors(result.errors));
  return result.closure;
};

const kindOf = ({ target }: Node): string => {
  if (target.case === 'workflowNode')
    return target.value.reference.case === 'launchplanRef' ? 'launch plan' : 'sub-workflow';
  if (target.case === 'gateNode') return `gate (${target.value.condition.case})`;
  return (target.case ?? 'none').replace('Node', '');
};

const countsOf = ({ template }: CompiledWorkflow): NodeCounts => {
  const { nodes, failureNode } = template!;
  const own = nodes.filter(({ id }) => id !== START && id !== END);
  const kinds: Record<string, number> = {};
  for (const node of own) kinds[kindOf(node)] = (kinds[kindOf(node)] ?? 0) + 1;
  const inside = everyNode({ ...template!, nodes: own, failureNode: undefined }).length - own.length;
  return {
    nodesWithStartAndEnd: nodes.length,
    kinds,
    ...(inside > 0 && { insideBranchesAndArrays: inside }),
    ...(failureNode && { failureNode: kindOf(failureNode) }),
  };
};

const depthOf = (template: WorkflowTemplate, closure: CompiledWorkflowClosure): number => {
  const below = everyNode(template).flatMap(({ target }) => {
    const reference = target.case === 'workflowNode' ? target.value.reference : undefined;
    if (reference?.case !== 'subWorkflowRef') return [];
    const sub = closure.subWorkflows.find((each) => keyOf(each.template!.id!) === keyOf(reference.value));
    return [depthOf(sub!.template!, closure)];
  });
  return 1 + Math.max(0, ...below);
};

const workflows = fixtureFolders().flatMap(({ entries }) => entries.filter(({ kind }) => kind === 'workflow'));

describe('a recorded workflow', () => {
  test.each(workflows)('$path compiles to the shape that it should have', ({ bytes, shape }) => {
    const closure = compiled(bytes);
    const subWorkflows = closure.subWorkflows.map((each) => [each.template!.id!.name, countsOf(each)] as const);
    expect({
      ...countsOf(closure.primary!),
      depth: depthOf(closure.primary!.template!, closure),
      ...(subWorkflows.length > 0 && { subWorkflows: Object.fromEntries(subWorkflows) }),
    }).toEqual(shape);
  });

  test.each(workflows)('$path has an edge back for each edge of the graph, and every task once', ({ bytes }) => {
    const request = workflowRequest(bytes);
    const closure = compiled(bytes);
    for (const { template, connections } of [closure.primary!, ...closure.subWorkflows]) {
      const own = new Set(template!.nodes.map(({ id }) => id));
      const up = Object.entries(connections!.upstream).filter(([id]) => own.has(id));
      const edges = up.flatMap(([id, { ids }]) => ids.map((each) => `${each} > ${id}`));
      const down = Object.entries(connections!.downstream).flatMap(([id, { ids }]) => ids.map((to) => `${id} > ${to}`));
      expect(down.sort()).toEqual(edges.sort());
      expect(up.map(([id]) => id).sort()).toEqual([...own].filter((id) => id !== START).sort());
    }
    const tasks = closure.tasks.map(({ template }) => keyOf(template!.id!));
    const { tasks: needed } = requirementsOf(request.spec!.template!, request.spec!.subWorkflows);
    expect(tasks).toEqual(needed.map(keyOf));
    expect(new Set(tasks).size).toBe(tasks.length);
  });

  test('of 345 nodes compiles in less than 100 ms', () => {
    const { bytes } = workflows.find(({ path }) => path.startsWith('12-big'))!;
    const request = workflowRequest(bytes);
    const times = Array.from({ length: 5 }, () => timed(() => compileRequest(request, registered))[1]);
    expect(Math.min(...times)).toBeLessThan(100);
  });

  test('is left as it came', () => {
    for (const { bytes } of workflows) {
      const request = workflowRequest(bytes);
      compileRequest(request, registered);
      expect(request).toEqual(workflowRequest(bytes));
    }
  });
});

describe('a second recording', () => {
  const again = againEntries();

  test.each(again.filter(({ method }) => method === 'CreateWorkflow'))(
    'of the workflow $same compiles to the same closure',
    ({ bytes, same }) => {
      const [first, second] = [compiled(fixtureBytes(same)), compiled(bytes)].map((closure) =>
        canonicalBytes(CompiledWorkflowClosureSchema, closure),
      );
      expect(second).toEqual(first);
    },
  );

  test.each(again.filter(({ method }) => method === 'CreateTask'))(
    'of the task $same compiles to the same task',
    ({ bytes, same }) => {
      const [first, second] = [fixtureBytes(same), bytes].map((each) => {
        const { id, spec } = fromBinary(TaskCreateRequestSchema, each);
        const result = compileTask({ ...spec!.template!, id: id! });
        return 'task' in result && canonicalBytes(CompiledTaskSchema, result.task);
      });
      expect(second).toEqual(first);
      expect(second).not.toBe(false);
    },
  );
});

describe('a workflow with a fault', () => {
  // The others are refused before the compiler sees them, or are no faults of the graph.
  const faulty = invalidEntries().filter(({ name }) => {
    const number = Number(name.slice(0, 3));
    return number >= 26 && number <= 52;
  });

  test.each(faulty)('is refused, and the text says so: $name', ({ bytes, textNames }) => {
    const result = compileRequest(workflowRequest(bytes), registered);
    const text = 'errors' in result ? collectedErrors(result.errors) : 'compiled';
    expect(text).toMatch(/^Collected Errors: [1-9]\d*\n\tError 0: Code: \w+, Node Id: .*, Description: ./);
    expect(text).toContain(textNames);
  });
});

describe('a task with a fault', () => {
  const faulty = invalidEntries().filter(({ name }) => {
    const number = Number(name.slice(0, 3));
    return number >= 16 && number <= 22;
  });

  test.each(faulty)('is refused, and the text says so: $name', ({ bytes, textNames }) => {
    const { template } = fromBinary(TaskCreateRequestSchema, bytes).spec!;
    const result = compileTask(template!);
    const texts = 'errors' in result ? result.errors.map(({ text }) => text) : [];
    expect([...texts, taskResourcesProblem(template!, {}) ?? ''].join('\n')).toContain(textNames);
    expect(texts).not.toEqual([]);
  });
});

describe('a graph that is made at run time', () => {
  test.each(['fan-out', 'inner-fan'])('%s compiles to what the engine reports', (name) => {
    const spec = fromBinary(DynamicJobSpecSchema, fixtureBytes(`06-dynamic/dynamic/${name}.dynamic_job_spec.pb`));
    const reported = fromBinary(
      CompiledWorkflowClosureSchema,
      fixtureBytes(`06-dynamic/dynamic/${name}.compiled_workflow_closure.pb`),
    );
    const tasks = new Map(reported.tasks.map((task) => [keyOf(task.template!.id!), task]));
    const { primary } = reported;
    const own = primary!.template!;
    const result = compileWorkflow({
      template: { ...own, nodes: spec.nodes, outputs: spec.outputs },
      subWorkflows: spec.subworkflows,
      task: (id) => tasks.get(keyOf(id)) ?? registered.tasks.get(keyOf(id)),
      launchPlan: () => undefined,
    });
    if ('errors' in result) throw new Error(collectedErrors(result.errors));
    expect(result.closure).toEqual(reported);
  });
});
