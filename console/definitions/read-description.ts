import type { DescriptionEntity } from '../../proto/gen/platformidl/admin/description_entity_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { conditionToFind, withCondition } from '../executions/filter-text.js';
import { call } from '../server/call.js';
import type { Named } from '../server/ids.js';
import { type Kind, KINDS } from './kinds.js';

const PAGE = 100;

/**
 * Reads the description of a version; `null` when it has none. Versions with similar texts may be in the list, too: see
 * `conditionToFind`.
 */
export const readDescription = async (
  kind: Kind,
  { id, version }: { readonly id: Named; readonly version: string },
  signal: AbortSignal,
): Promise<DescriptionEntity | null> => {
  const filters = withCondition('', conditionToFind('version', version));
  const request = { resourceType: KINDS[kind].resourceType, id, filters, limit: PAGE };
  let token = '';
  do {
    const page = await call(AdminService.method.listDescriptionEntities, { ...request, token }, signal);
    const found = page.descriptionEntities.find((each) => each.id?.version === version);
    if (found) return found;
    ({ token } = page);
  } while (token !== '');
  return null;
};
