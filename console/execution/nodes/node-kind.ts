import type { NodeExecution } from '../../../proto/gen/platformidl/admin/node_execution_pb.js';
import { CatalogCacheStatus } from '../../../proto/gen/platformidl/core/catalog_pb.js';
import { nodePhase } from '../../look/phases.js';

/** The word beside the name of a node that says what sets it apart; empty for most nodes. */
export const kindOf = ({ metadata, closure }: NodeExecution): string => {
  if (nodePhase(closure?.phase) === 'RECOVERED') return 'recovered';
  if (metadata?.isArray === true) return 'map';
  if (metadata?.isDynamic === true) return 'dynamic';
  if (closure?.targetMetadata.case === 'workflowNodeMetadata') return 'launches';
  const isCached =
    closure?.targetMetadata.case === 'taskNodeMetadata' &&
    closure.targetMetadata.value.cacheStatus === CatalogCacheStatus.CACHE_HIT;
  return isCached ? 'cached' : '';
};
