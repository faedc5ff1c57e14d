import { fromBinary } from '@bufbuild/protobuf';
import { describe, expect, test } from 'vitest';

import { TaskCreateRequestSchema } from '../../../proto/gen/platformidl/admin/task_pb.js';
import { CompiledWorkflowClosureSchema } from '../../../proto/gen/platformidl/core/compiler_pb.js';
import type { CompiledWorkflowClosure } from '../../../proto/gen/platformidl/core/compiler_pb.js';
import { DynamicJobSpecSchema } from '../../../proto/gen/platformidl/core/dynamic_job_pb.js';
import { CompiledTaskSchema } from '../../../proto/gen/platformidl/core/compiler_pb.js';
import { collectedErrors } from '../../../services/compiler/compile-error.js';
import { identifierKey } from '../../../services/compiler/identifier-key.js';
import { START } from '../../../services/compiler/graph/node-walk.js';
import { requirementsOf } from '../../../services/compiler/graph/requirements.js';
import { compileTask } from '../../../services/compiler/task.js';
import { taskResourcesProblem } from '../../../services/compiler/resources/task-resources.js';
import { compileWorkflow } from '../../../services/compiler/workflow.js';
import { canonicalBytes } from '../../../services/kernel/encoding/canonical.js';
import {
  againEntries,
  fixtureBytes,
  fixtureFolders,
  type InvalidEntry,
  invalidEntries,
} from '../../support/requests/fixtures.js';
import { timed } from '../../support/costs/timed.js';
import { shapeOf } from '../../support/requests/workflow-shape.js';
import { compileRequest, registeredFixtures, workflowRequest } from './registered.js';

const registered = registeredFixtures();

/** The closure of a recorded workflow. @throws {Error} with the errors of the compilation. */
const compiled = (bytes: Uint8Array): CompiledWorkflowClosure => {
  const result = compileRequest(workflowRequest(bytes), registered);
  if ('errors' in result) throw new Error(collectedErrors(result.errors));
  return result.closure;
};

/** The invalid requests whose numbers are from `first` to `last`. */
const invalidBetween = (first: number, last: number): readonly InvalidEntry[] =>
  invalidEntries().filter(({ name }) => {
    const number = Number(name.slice(0, 3));
    return number >= first && number <= last;
  });

const workflows = fixtureFolders().flatMap(({ entries }) => entries.filter(({ kind }) => kind === 'workflow'));

describe('a recorded workflow', () => {
  test.each(workflows)('$path compiles to the shape of its fixture', ({ bytes, shape }) => {
    expect(shapeOf(compiled(bytes))).toEqual(shape);
  });

  test.each(workflows)('$path has each upstream edge downstream too, and every task once', ({ bytes }) => {
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
    const tasks = closure.tasks.map(({ template }) => identifierKey(template!.id!));
    const { tasks: needed } = requirementsOf(request.spec!.template!, request.spec!.subWorkflows);
    expect(tasks).toEqual(needed.map(identifierKey));
    expect(new Set(tasks).size).toBe(tasks.length);
  });

  test('of 345 nodes compiles within 100 ms of processor time, at best of five times', () => {
    const { bytes } = workflows.find(({ path }) => path.startsWith('12-big'))!;
    const request = workflowRequest(bytes);
    const times = Array.from({ length: 5 }, () => timed(() => compileRequest(request, registered))[1]);
    expect(Math.min(...times)).toBeLessThan(100);
  });

  test('is not changed by its compilation', () => {
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
  // Invalid workflows with other numbers are refused before compilation, or have no fault of the graph.
  const faulty = invalidBetween(26, 52);

  test.each(faulty)('is refused, and the error names the fault: $name', ({ bytes, textNames }) => {
    const result = compileRequest(workflowRequest(bytes), registered);
    const text = 'errors' in result ? collectedErrors(result.errors) : 'compiled';
    expect(text).toMatch(/^Collected Errors: [1-9]\d*\n\tError 0: Code: \w+, Node Id: .*, Description: ./);
    expect(text).toContain(textNames);
  });
});

describe('a task with a fault', () => {
  // Invalid tasks with other numbers are refused before compilation, or exist already.
  const faulty = invalidBetween(16, 22);

  test.each(faulty)('is refused, and the error names the fault: $name', ({ bytes, textNames }) => {
    const { template } = fromBinary(TaskCreateRequestSchema, bytes).spec!;
    const result = compileTask(template!);
    const texts = 'errors' in result ? result.errors.map(({ text }) => text) : [];
    expect([...texts, taskResourcesProblem(template!, {}) ?? ''].join('\n')).toContain(textNames);
    expect(texts).not.toEqual([]);
  });
});

describe('a dynamic workflow', () => {
  test.each(['fan-out', 'inner-fan'])('%s compiles to the closure that the engine reports', (name) => {
    const spec = fromBinary(DynamicJobSpecSchema, fixtureBytes(`06-dynamic/dynamic/${name}.dynamic_job_spec.pb`));
    const reported = fromBinary(
      CompiledWorkflowClosureSchema,
      fixtureBytes(`06-dynamic/dynamic/${name}.compiled_workflow_closure.pb`),
    );
    const tasks = new Map(reported.tasks.map((task) => [identifierKey(task.template!.id!), task]));
    const { primary } = reported;
    const own = primary!.template!;
    const result = compileWorkflow({
      template: { ...own, nodes: spec.nodes, outputs: spec.outputs },
      subWorkflows: spec.subworkflows,
      task: (id) => tasks.get(identifierKey(id)) ?? registered.tasks.get(identifierKey(id)),
      launchPlan: () => undefined,
    });
    if ('errors' in result) throw new Error(collectedErrors(result.errors));
    expect(result.closure).toEqual(reported);
  });
});
