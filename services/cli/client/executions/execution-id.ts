import { OperatorError } from '../../../config/operator-errors.js';

/** The identifier of an execution. */
export type ExecutionId = { readonly project: string; readonly domain: string; readonly name: string };

type Scope = { readonly project: string; readonly domain: string };

/**
 * The execution that a person names: `NAME` in the project and domain of the flags, or `PROJECT/DOMAIN/NAME`.
 *
 * @throws {OperatorError} for another form.
 */
export const executionIdOf = (text: string, scope: Scope): ExecutionId => {
  const [first = '', domain, name, ...more] = text.split('/');
  if (domain === undefined) return { project: scope.project, domain: scope.domain, name: first };
  if (name === undefined || more.length > 0)
    throw new OperatorError(`${text} is not a name of an execution; write NAME or PROJECT/DOMAIN/NAME`);
  return { project: first, domain, name };
};

/** The path of an execution in the web console. */
export const consolePathOf = ({ project, domain, name }: ExecutionId): string =>
  `/projects/${[project, 'domains', domain, 'executions', name].map(encodeURIComponent).join('/')}`;
