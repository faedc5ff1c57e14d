import { LAUNCH_ID } from '../object/metadata.js';
import { type ExecutionObject, type ClusterObject } from './cluster.js';

/** The media type for the metadata alone: objects can be large, and the bridge needs no more. */
export const METADATA_ONLY = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';
/** The media type for a list with the metadata alone. */
export const METADATA_LIST = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';

/** Metadata in an answer of an API server. */
export type AnsweredMetadata = {
  readonly name?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly deletionTimestamp?: string;
};

/** Reads the key of an object, and the project and domain of its execution, from its metadata. */
export const executionOfObject = ({ name = '', namespace = '', labels = {} }: AnsweredMetadata): ExecutionObject => ({
  name,
  namespace,
  project: labels['project'] ?? '',
  domain: labels['domain'] ?? '',
});

/** Reads an object from its metadata. */
export const objectOfMetadata = (metadata: AnsweredMetadata): ClusterObject => ({
  ...executionOfObject(metadata),
  uid: metadata.uid ?? '',
  resourceVersion: metadata.resourceVersion ?? '',
  launchId: metadata.annotations?.[LAUNCH_ID] ?? '',
  finalizers: metadata.finalizers ?? [],
  deletedAtMs: metadata.deletionTimestamp === undefined ? undefined : Date.parse(metadata.deletionTimestamp),
});
