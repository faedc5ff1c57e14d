import { create } from '@bufbuild/protobuf';

import { CatalogCacheStatus } from '../../proto/gen/platformidl/core/catalog_pb.js';
import type { TaskExecution_Phase as Phase } from '../../proto/gen/platformidl/core/execution_pb.js';
import {
  type ExternalResourceInfo,
  type ResourcePoolInfo,
  type TaskExecutionMetadata,
  TaskExecutionMetadata_InstanceClass,
  TaskExecutionMetadataSchema,
} from '../../proto/gen/platformidl/event/event_pb.js';
import { mergedLogs, shownLogs } from './logs.js';

const inOrder = (a: ExternalResourceInfo, b: ExternalResourceInfo): number =>
  a.index - b.index || a.retryAttempt - b.retryAttempt;

const mergedResource = (known: ExternalResourceInfo, reported: ExternalResourceInfo): ExternalResourceInfo => ({
  ...known,
  externalId: reported.externalId || known.externalId,
  phase: reported.phase,
  cacheStatus: reported.cacheStatus === CatalogCacheStatus.CACHE_DISABLED ? known.cacheStatus : reported.cacheStatus,
  logs: mergedLogs(known.logs, reported.logs),
  targetMetadata: reported.targetMetadata.case === undefined ? known.targetMetadata : reported.targetMetadata,
  ...(reported.customInfo && { customInfo: reported.customInfo }),
  ...(reported.logContext && { logContext: reported.logContext }),
});

/** Merges external resources, identified by index and attempt; those that the event does not mention stay. */
const mergedResources = (
  known: readonly ExternalResourceInfo[],
  reported: readonly ExternalResourceInfo[],
): ExternalResourceInfo[] => {
  const keyOf = ({ index, retryAttempt }: ExternalResourceInfo): string => `${index}/${retryAttempt}`;
  const resources = new Map(known.map((each) => [keyOf(each), each]));
  for (const each of reported) {
    const before = resources.get(keyOf(each));
    resources.set(keyOf(each), before ? mergedResource(before, each) : each);
  }
  return [...resources.values()].sort(inOrder);
};

/** Merges resource pools: a pool once reported stays listed, even when later events omit it. */
const mergedPools = (known: readonly ResourcePoolInfo[], reported: readonly ResourcePoolInfo[]): ResourcePoolInfo[] => {
  const keyOf = ({ namespace, allocationToken }: ResourcePoolInfo): string =>
    JSON.stringify([namespace, allocationToken]);
  return [...new Map([...known, ...reported].map((each) => [keyOf(each), each])).values()];
};

export const mergedMetadata = (
  known: TaskExecutionMetadata | undefined,
  reported: TaskExecutionMetadata,
): TaskExecutionMetadata => {
  const { generatedName, pluginIdentifier, instanceClass, externalResources, resourcePoolInfo } = reported;
  const before = known ?? create(TaskExecutionMetadataSchema);
  return {
    ...before,
    ...(generatedName && { generatedName }),
    ...(pluginIdentifier && { pluginIdentifier }),
    ...(instanceClass !== TaskExecutionMetadata_InstanceClass.DEFAULT && { instanceClass }),
    resourcePoolInfo: mergedPools(before.resourcePoolInfo, resourcePoolInfo),
    externalResources: mergedResources(before.externalResources, externalResources),
  };
};

/** The metadata with the log links that are shown in a phase; the same object when all of them are shown. */
export const shownMetadata = (
  metadata: TaskExecutionMetadata | undefined,
  phase: Phase,
): TaskExecutionMetadata | undefined => {
  if (metadata?.externalResources.every(({ logs }) => shownLogs(logs, phase) === logs) ?? true) return metadata;
  return (
    metadata && {
      ...metadata,
      externalResources: metadata.externalResources.map((each) => ({ ...each, logs: shownLogs(each.logs, phase) })),
    }
  );
};
