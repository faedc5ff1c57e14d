import { create } from '@bufbuild/protobuf';
import {
  ExecutionCreateResponseSchema,
  ExecutionMetadata_ExecutionMode as Mode,
  ExecutionMetadataSchema,
  type ExecutionSpec,
  ExecutionSpecSchema,
} from '../../../../proto/gen/platformidl/admin/execution_pb.js';
import type { Literal } from '../../../../proto/gen/platformidl/core/literals_pb.js';
import { AdminService } from '../../../../proto/gen/platformidl/service/admin_pb.js';
import { IdentifierSchema, ResourceType } from '../../../../proto/gen/platformidl/core/identifier_pb.js';
import { OperatorError } from '../../../config/operator-errors.js';
import { connected } from '../connection/connect.js';
import type { Connection } from '../connection/connection.js';
import type { FormFlags, ScopeFlags } from '../connection/flags.js';
import { type Definition, type DefinitionKind, readDefinition } from '../entities/definition.js';
import { givenInputs, type InputFlags } from '../inputs/input-flags.js';
import { type GivenInputs, literalsOf } from '../inputs/inputs.js';
import { documentText, jsonOfMessage, oneOfManyText, print } from '../output/documents.js';
import { coloured } from '../output/text.js';
import { executionData } from './execution-data.js';
import { consolePathOf, type ExecutionId, executionIdOf } from './execution-id.js';
import { follow } from './watch.js';

/** The flags of commands that make an execution. */
export type NewFlags = ScopeFlags & FormFlags & { readonly name?: string; readonly wait: boolean };

/** The flags of `launch` and `relaunch`; labels are of `launch` alone. */
export type LaunchFlags = NewFlags & InputFlags & { readonly label?: Readonly<Record<string, string>> };

type Scope = { readonly project: string; readonly domain: string };

type Created = {
  readonly id?: { readonly project: string; readonly domain: string; readonly name: string } | undefined;
};

/** Prints the name of the new execution, and follows it to its end with `--wait`. */
const announce = async (connection: Connection, { id }: Created, flags: NewFlags): Promise<void> => {
  const { output: form, wait } = flags;
  if (!id) throw new OperatorError('the server did not name the execution');
  const link = connection.consoleLink(consolePathOf(id));
  if (form === 'name') print(id.name);
  else if (form === 'table') print(`launched ${coloured(id.name, 'bold')}${link === undefined ? '' : `\n${link}`}`);
  else {
    const document = jsonOfMessage(ExecutionCreateResponseSchema, create(ExecutionCreateResponseSchema, { id }));
    print(wait ? oneOfManyText(form, document) : documentText(form, document));
  }
  if (wait) process.exitCode = (await follow(connection, id, form)).exitCode;
};

type Launch = {
  readonly target: Definition;
  readonly literals: Readonly<Record<string, Literal>>;
  readonly spec: ExecutionSpec;
};

const createExecution = (
  connection: Connection,
  { project, domain }: Scope,
  name: string,
  launch: Launch,
): Promise<Created> =>
  connection.call(AdminService.method.createExecution, {
    project,
    domain,
    name,
    spec: { ...launch.spec, launchPlan: create(IdentifierSchema, launch.target.id) },
    inputs: { literals: launch.literals },
  });

/**
 * Launches a launch plan, a workflow by the launch plan that has its name and version, or a task by itself.
 *
 * @throws {OperatorError} when inputs are wrong; the message has a line for each.
 * @throws {Refused} when the server refuses; the message has its reason.
 */
export const launch = async (
  kind: DefinitionKind,
  { name, version }: { readonly name: string; readonly version: string | undefined },
  flags: LaunchFlags,
): Promise<void> => {
  const given = givenInputs(flags);
  return connected(flags, async (connection) => {
    const { project, domain, label } = flags;
    const named = await readDefinition(connection, kind, { project, domain, name, version });
    const target =
      kind === 'workflow'
        ? await readDefinition(connection, 'launch-plan', { project, domain, name, version: named.id.version })
        : named;
    const literals = literalsOf(target.inputs, given);
    const labels = label === undefined ? {} : { labels: { values: label } };
    const spec = create(ExecutionSpecSchema, { metadata: { mode: Mode.MANUAL }, ...labels });
    const created = await createExecution(connection, flags, flags.name ?? '', { target, literals, spec });
    await announce(connection, created, flags);
  });
};

const changed = async (
  connection: Connection,
  id: ExecutionId,
  given: GivenInputs,
  { name = '' }: LaunchFlags,
): Promise<Created> => {
  const { spec } = await connection.call(AdminService.method.getExecution, { id });
  const { fullInputs } = await executionData(connection, id, ['inputs']);
  if (!spec?.launchPlan) throw new OperatorError(`${id.name} has no launch plan`);
  const kind: DefinitionKind = spec.launchPlan.resourceType === ResourceType.TASK ? 'task' : 'launch-plan';
  const target = await readDefinition(connection, kind, spec.launchPlan);
  const before = fullInputs?.literals ?? {};
  const inputs = target.inputs.map((input) => ({
    ...input,
    isRequired: input.isRequired && !Object.hasOwn(before, input.name),
  }));
  const names = new Set(target.inputs.map(({ name }) => name));
  const kept = Object.fromEntries(Object.entries(before).filter(([name]) => names.has(name)));
  const literals = { ...kept, ...literalsOf(inputs, given) };
  const metadata = create(ExecutionMetadataSchema, { mode: Mode.RELAUNCH, referenceExecution: id });
  // As after RelaunchExecution, the cache is used again if the execution had ignored it.
  const relaunched = { ...spec, metadata, overwriteCache: false };
  return createExecution(connection, id, name, { target, literals, spec: relaunched });
};

/**
 * Launches an execution again: as it was, or with some inputs changed.
 *
 * @throws {OperatorError} when inputs are wrong, with a line for each, or the server cannot read those of the
 * execution.
 * @throws {Refused} when the server refuses; the message has its reason.
 */
export const relaunch = async (execution: string, flags: LaunchFlags): Promise<void> => {
  const isSame = flags.input === undefined && flags.inputs === undefined;
  const given = givenInputs(flags);
  return connected(flags, async (connection) => {
    const id = executionIdOf(execution, flags);
    const created = isSame
      ? await connection.call(AdminService.method.relaunchExecution, { id, name: flags.name ?? '' })
      : await changed(connection, id, given, flags);
    await announce(connection, created, flags);
  });
};

/**
 * Launches again an execution that did not succeed; nodes that have succeeded are not run again.
 *
 * @throws {Refused} when the server refuses; the message has its reason.
 */
export const recover = (execution: string, flags: NewFlags): Promise<void> =>
  connected(flags, async (connection) => {
    const id = executionIdOf(execution, flags);
    const created = await connection.call(AdminService.method.recoverExecution, { id, name: flags.name ?? '' });
    await announce(connection, created, flags);
  });
