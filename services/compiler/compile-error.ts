/** What can be wrong with a graph, in the words of the interface. */
export type CompileErrorCode =
  | 'AmbiguousBindingUnionValue'
  | 'BranchNodeHasNoCondition'
  | 'BranchNodeHasNoDefault'
  | 'CycleDetected'
  | 'DuplicateAlias'
  | 'DuplicateId'
  | 'FieldNotFound'
  | 'IllegalEnumValue'
  | 'IncompatibleBindingUnionValue'
  | 'InvalidLiteralType'
  | 'InvalidValue'
  | 'MismatchingBindings'
  | 'MismatchingTypes'
  | 'NoConditionFound'
  | 'NoNodesFound'
  | 'NodeReferenceNotFound'
  | 'ParameterBoundMoreThanOnce'
  | 'ParameterNotBound'
  | 'TaskReferenceNotFound'
  | 'ValueRequired'
  | 'VariableNameNotFound'
  | 'WorkflowReferenceNotFound';

/** A fault, before it is known where it lies. */
export type Problem = { readonly code: CompileErrorCode; readonly text: string };

export type CompileError = Problem & { readonly nodeId: string };

/** Takes down what is wrong with a node. */
export type Report = (nodeId: string, problem: Problem) => void;

/** What was found so far. When it is full, looking further is a waste. */
export type Findings = { readonly report: Report; readonly isFull: () => boolean };

/** Ten thousand nodes can each lack ten thousand inputs. */
const MAX_ERRORS = 1000;

/** Findings that add to `errors`. */
export const findingsIn = (errors: CompileError[]): Findings => ({
  report: (nodeId, each) => void errors.push({ nodeId, ...each }),
  isFull: () => errors.length >= MAX_ERRORS,
});

export const problem = (code: CompileErrorCode, text: string): Problem => ({ code, text });

export const required = (what: string): Problem => problem('ValueRequired', `${what} is required`);

/** Nobody reads more than these. */
const MAX_LINES = 100;

const line = ({ code, nodeId, text }: CompileError, index: number): string =>
  `\tError ${index}: Code: ${code}, Node Id: ${nodeId}, Description: ${text}`;

/** Each error once, in the order of finding. */
export const distinctErrors = (errors: readonly CompileError[]): readonly CompileError[] => [
  ...new Map(errors.map((error) => [line(error, 0), error])).values(),
];

/** The text of all of them, as clients print it. */
export const collectedErrors = (errors: readonly CompileError[]): string => {
  const lines = errors.slice(0, MAX_LINES).map(line);
  const rest = errors.length - lines.length;
  return [`Collected Errors: ${errors.length}`, ...lines, ...(rest > 0 ? [`\t… and ${rest} more`] : [])].join('\n');
};
