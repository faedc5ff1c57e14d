import { GetDomainsResponseSchema } from '../../../../proto/gen/platformidl/admin/project_pb.js';
import { AdminService } from '../../../../proto/gen/platformidl/service/admin_pb.js';
import { connected } from '../connection/connect.js';
import type { FormFlags } from '../connection/flags.js';
import type { ConnectionFlags } from '../connection/profile.js';
import { documentText, jsonOfMessage, print } from '../output/documents.js';
import { tableText } from '../output/table.js';
import { DOMAIN_COLUMNS } from './rows.js';

/**
 * Prints the domains of the server.
 *
 * @throws {Refused} when the server refuses; the message has its reason.
 */
export const listDomains = ({ output: form, ...flags }: ConnectionFlags & FormFlags): Promise<void> =>
  connected(flags, async (connection) => {
    const answer = await connection.call(AdminService.method.getDomains, {});
    if (form === 'table') print(tableText(DOMAIN_COLUMNS, answer.domains));
    else if (form === 'name') for (const { id } of answer.domains) print(id);
    else print(documentText(form, jsonOfMessage(GetDomainsResponseSchema, answer)));
  });
