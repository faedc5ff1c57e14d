import { create } from '@bufbuild/protobuf';

import {
  type CompiledTask,
  type CompiledWorkflow,
  type CompiledWorkflowClosure,
  CompiledWorkflowClosureSchema,
  CompiledWorkflowSchema,
} from '../../proto/gen/platformidl/core/compiler_pb.js';
import type { Identifier } from '../../proto/gen/platformidl/core/identifier_pb.js';
import type { WorkflowTemplate } from '../../proto/gen/platformidl/core/workflow_pb.js';
import {
  type CompileError,
  distinctErrors,
  type Findings,
  errorsInto,
  compileProblem,
  type ReportProblem,
} from './compile-error.js';
import { connectionsOf } from './graph/connections.js';
import { checkGraph } from './graph/graph-check.js';
import { identifierText, identifierKey } from './identifier-key.js';
import { laidOutTemplate } from './graph/layout.js';
import { everyNode } from './graph/node-walk.js';
import { cycleText, topologicalOrder } from './graph/order.js';
import { requirementsOf } from './graph/requirements.js';
import { type Interface, interfaceOf, type LaunchPlanInterface, type Library } from './graph/scope.js';

/**
 * A workflow to compile, and look-ups of what `requirementsOf` returned; they return `undefined` for a version that is
 * not registered.
 */
export type CompileRequest = {
  readonly template: WorkflowTemplate;
  readonly subWorkflows: readonly WorkflowTemplate[];
  readonly task: (id: Identifier) => CompiledTask | undefined;
  readonly launchPlan: (id: Identifier) => LaunchPlanInterface | undefined;
};

export type CompiledOrErrors =
  | { readonly closure: CompiledWorkflowClosure }
  | { readonly errors: readonly CompileError[] };

/** Caches a look-up: thousands of nodes can refer to one task. */
const once = <Value>(lookUp: (id: Identifier) => Value): ((id: Identifier) => Value) => {
  const known = new Map<string, Value>();
  return (id) => {
    const key = identifierKey(id);
    const value = known.has(key) ? (known.get(key) as Value) : lookUp(id);
    known.set(key, value);
    return value;
  };
};

const libraryOf = ({ task, launchPlan, subWorkflows }: CompileRequest): Library => {
  const templates = new Map(subWorkflows.flatMap((each) => (each.id ? [[identifierKey(each.id), each] as const] : [])));
  const interfaceOfTask = (id: Identifier): Interface | undefined => {
    const template = task(id)?.template;
    return template && interfaceOf(template.interface);
  };
  const interfaceOfWorkflow: Library['subWorkflow'] = (id) => {
    const template = templates.get(identifierKey(id));
    return template && (template.interface ? interfaceOf(template.interface) : 'without interface');
  };
  return { task: once(interfaceOfTask), launchPlan: once(launchPlan), subWorkflow: once(interfaceOfWorkflow) };
};

const nameOf = ({ id }: WorkflowTemplate): string => (id ? identifierText(id) : '');

const subWorkflowKeys = (template: WorkflowTemplate): ReadonlySet<string> =>
  new Set(
    everyNode(template).flatMap(({ target }) => {
      const reference = target.case === 'workflowNode' ? target.value.reference : undefined;
      return reference?.case === 'subWorkflowRef' ? [identifierKey(reference.value)] : [];
    }),
  );

/** Reports sub-workflows that contain themselves: they are part of the graph, which would be infinite. */
const checkNesting = (templates: readonly WorkflowTemplate[], report: ReportProblem): void => {
  const known = templates.flatMap((each) => (each.id ? [[identifierKey(each.id), each] as const] : []));
  const { cycle } = topologicalOrder(new Map(known.map(([key, each]) => [key, subWorkflowKeys(each)])));
  if (cycle === undefined) return;
  const names = cycle.map((key) => (JSON.parse(key) as string[]).join(':'));
  report('', compileProblem('CycleDetected', `sub-workflows contain each other: ${cycleText(names)}`));
};

const checkSubWorkflowIds = (subWorkflows: readonly WorkflowTemplate[], report: ReportProblem): void => {
  const seen = new Set<string>();
  for (const { id } of subWorkflows) {
    const key = id ? identifierKey(id) : '';
    if (id === undefined) report('', compileProblem('ValueRequired', 'the id of a sub-workflow is required'));
    else if (seen.has(key))
      report('', compileProblem('DuplicateId', `sub-workflow ${identifierText(id)} is given twice`));
    seen.add(key);
  }
};

/** Adds the name of the sub-workflow to each error. */
const within = ({ report, isFull }: Findings, template: WorkflowTemplate): Findings => ({
  report: (nodeId, { code, text }) => report(nodeId, compileProblem(code, `${text}, in ${nameOf(template)}`)),
  isFull,
});

const errorsOf = (request: CompileRequest): readonly CompileError[] => {
  const { template, subWorkflows } = request;
  const errors: CompileError[] = [];
  const findings = errorsInto(errors);
  const library = libraryOf(request);
  checkSubWorkflowIds(subWorkflows, findings.report);
  checkNesting([template, ...subWorkflows], findings.report);
  checkGraph(template, library, findings);
  for (const each of subWorkflows) checkGraph(each, library, within(findings, each));
  return distinctErrors(errors);
};

const compiled = (source: WorkflowTemplate): CompiledWorkflow => {
  const template = laidOutTemplate(source);
  return create(CompiledWorkflowSchema, { template, connections: connectionsOf(template) });
};

/**
 * Compiles a workflow with its sub-workflows. Pure and deterministic: the order of map entries and of upstream ids in
 * the request does not change the closure, whose tasks are sorted. The request is not changed.
 */
export const compileWorkflow = (request: CompileRequest): CompiledOrErrors => {
  const errors = errorsOf(request);
  if (errors.length > 0) return { errors };
  const { template, subWorkflows, task } = request;
  const closure = create(CompiledWorkflowClosureSchema, {
    primary: compiled(template),
    subWorkflows: subWorkflows.map(compiled),
    tasks: requirementsOf(template, subWorkflows).tasks.flatMap((id) => task(id) ?? []),
  });
  return { closure };
};
