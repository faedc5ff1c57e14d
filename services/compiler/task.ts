import { create } from '@bufbuild/protobuf';

import { type CompiledTask, CompiledTaskSchema } from '../../proto/gen/platformidl/core/compiler_pb.js';
import type { Container, K8sPod, TaskTemplate } from '../../proto/gen/platformidl/core/tasks_pb.js';
import { type CompileError, type CompileProblem, compileProblem, required } from './compile-error.js';
import { identifierText } from './identifier-key.js';
import { podContainers } from './resources/pod.js';
import { taskResourcesProblem } from './resources/task-resources.js';

export type CompiledTaskOrErrors = { readonly task: CompiledTask } | { readonly errors: readonly CompileError[] };

/** RFC 1123: the names that Kubernetes accepts for a container. */
const DNS_LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

const hasVariables = ({ interface: typed }: TaskTemplate): boolean =>
  [typed?.inputs, typed?.outputs].some((map) => Object.keys(map?.variables ?? {}).length > 0);

const containerProblems = (template: TaskTemplate, { image, command, args }: Container): readonly CompileProblem[] => [
  ...(image === '' ? [required('image of the container')] : []),
  ...(hasVariables(template) && command.length === 0 && args.length === 0
    ? [required('command or args of a container with inputs or outputs')]
    : []),
];

const podProblems = ({ podSpec }: K8sPod): readonly CompileProblem[] =>
  (podSpec ? (podContainers(podSpec) ?? []) : [])
    .filter(({ name }) => typeof name !== 'string' || !DNS_LABEL.test(name))
    .map(({ name }) =>
      compileProblem('InvalidValue', `container name ${JSON.stringify(name ?? '')} is not a DNS-1123 label`),
    );

const targetProblems = (template: TaskTemplate): readonly CompileProblem[] => {
  const { target } = template;
  if (target.case === 'container') return containerProblems(template, target.value);
  return target.case === 'k8sPod' ? podProblems(target.value) : [];
};

/** Compiles a task and refuses one that an engine could not run. */
export const compileTask = (template: TaskTemplate): CompiledTaskOrErrors => {
  const resources = taskResourcesProblem(template, {});
  const found = [
    ...targetProblems(template),
    ...(resources === undefined ? [] : [compileProblem('InvalidValue', resources)]),
  ];
  if (found.length === 0) return { task: create(CompiledTaskSchema, { template }) };
  const nodeId = template.id === undefined ? '' : identifierText(template.id);
  return { errors: found.map((each) => ({ ...each, nodeId })) };
};
