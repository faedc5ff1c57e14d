/** Error codes, as in Flyte's compiler. */
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

/** An error whose node is not yet known. */
export type CompileProblem = { readonly code: CompileErrorCode; readonly text: string };

export type CompileError = CompileProblem & { readonly nodeId: string };

/** Records a problem of a node. */
export type ReportProblem = (nodeId: string, problem: CompileProblem) => void;

/** The errors found so far. Once it is full, checking ends with the present node. */
export type Findings = { readonly report: ReportProblem; readonly isFull: () => boolean };

/** The number of errors at which findings are full: ten thousand nodes could each lack ten thousand inputs. */
const MAX_ERRORS = 1000;

/** Makes findings that add to `errors`. */
export const errorsInto = (errors: CompileError[]): Findings => ({
  report: (nodeId, each) => void errors.push({ nodeId, ...each }),
  isFull: () => errors.length >= MAX_ERRORS,
});

export const compileProblem = (code: CompileErrorCode, text: string): CompileProblem => ({ code, text });

export const required = (field: string): CompileProblem => compileProblem('ValueRequired', `${field} is required`);

/** Maximum number of errors that the text lists; the text says how many more there are. */
const MAX_LINES = 100;

const line = ({ code, nodeId, text }: CompileError, index: number): string =>
  `\tError ${index}: Code: ${code}, Node Id: ${nodeId}, Description: ${text}`;

/** Removes repeated errors and keeps the order in which they were found. */
export const distinctErrors = (errors: readonly CompileError[]): readonly CompileError[] => [
  ...new Map(errors.map((error) => [line(error, 0), error])).values(),
];

/** Formats the errors as one text, which clients print. */
export const collectedErrors = (errors: readonly CompileError[]): string => {
  const lines = errors.slice(0, MAX_LINES).map(line);
  const rest = errors.length - lines.length;
  return [`Collected Errors: ${errors.length}`, ...lines, ...(rest > 0 ? [`\t… and ${rest} more`] : [])].join('\n');
};
