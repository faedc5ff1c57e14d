import { jsonOf } from '../../../../interface/values/json-of.js';
import { typeInWords } from '../../../../interface/values/type-text.js';
import { AdminService } from '../../../../proto/gen/platformidl/service/admin_pb.js';
import { ProjectSchema } from '../../../../proto/gen/platformidl/admin/project_pb.js';
import { connected } from '../connection/connect.js';
import type { FormFlags, ScopeFlags } from '../connection/flags.js';
import type { ConnectionFlags } from '../connection/profile.js';
import type { TypedVariable } from '../inputs/typed-variable.js';
import { documentText, jsonOfMessage, print } from '../output/documents.js';
import { type Column, tableText } from '../output/table.js';
import { type Definition, type DefinitionKind, readDefinition } from './definition.js';
import { PROJECT_COLUMNS } from './columns.js';

const COLUMNS: readonly Column<TypedVariable>[] = [
  { header: 'INPUT', text: ({ name }) => name },
  { header: 'TYPE', text: ({ type }) => typeInWords(type) },
  { header: 'NEEDED', text: ({ isRequired }) => (isRequired ? 'yes' : 'no') },
  { header: 'DEFAULT', text: ({ initial }) => (initial ? JSON.stringify(jsonOf(initial)) : '') },
  { header: 'DESCRIPTION', text: ({ description }) => description },
];

const OUTPUT_COLUMNS: readonly Column<TypedVariable>[] = [
  { header: 'OUTPUT', text: ({ name }) => name },
  { header: 'TYPE', text: ({ type }) => typeInWords(type) },
  { header: 'DESCRIPTION', text: ({ description }) => description },
];

const printTables = ({ table, inputs, outputs }: Definition): void => {
  print(table());
  if (inputs.length > 0) print(`\n${tableText(COLUMNS, inputs)}`);
  if (outputs.length > 0) print(`\n${tableText(OUTPUT_COLUMNS, outputs)}`);
};

/**
 * Prints a version of a workflow, launch plan or task, with its typed interface.
 *
 * @throws {Refused} when the server refuses; the message has its reason.
 */
export const getDefinition = (
  kind: DefinitionKind,
  id: { readonly name: string; readonly version: string | undefined },
  { project, domain, output: form, ...flags }: ScopeFlags & FormFlags,
): Promise<void> =>
  connected(flags, async (connection) => {
    const found = await readDefinition(connection, kind, { project, domain, ...id });
    if (form === 'name') print(`${found.id.name} ${found.id.version}`);
    else if (form === 'table') printTables(found);
    else print(documentText(form, found.document()));
  });

/**
 * Prints a project.
 *
 * @throws {Refused} when the server refuses; the message has its reason.
 */
export const getProject = (id: string, { output: form, ...flags }: ConnectionFlags & FormFlags): Promise<void> =>
  connected(flags, async (connection) => {
    const project = await connection.call(AdminService.method.getProject, { id });
    if (form === 'name') print(project.id);
    else if (form === 'table') print(tableText(PROJECT_COLUMNS, [project]));
    else print(documentText(form, jsonOfMessage(ProjectSchema, project)));
  });
