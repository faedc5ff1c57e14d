import { create } from '@bufbuild/protobuf';
import {
  type SupportedMethods,
  SupportedMethodsSchema,
} from '../../../proto/gen/event_store/client/server_features_pb.js';
import { PROTOCOL_VERSION } from './node.js';

const PERSISTENT_SERVICE = 'event_store.client.persistent_subscriptions.persistentsubscriptions';
const STREAMS = 'event_store.client.streams.streams';

/** In lower case, because most clients compare the names as they are. */
type Method = readonly [service: string, method: string, features: readonly string[]];

const BATCH_APPEND: Method = [STREAMS, 'batchappend', ['deadline_duration']];

/** Not served, but listed: a client that does not find them asks over HTTP/1.1, and would show 404 instead of the reason. */
const PERSISTENT = ['create', 'update', 'delete', 'read', 'getinfo', 'list', 'replayparked', 'restartsubsystem'];

const METHODS: readonly Method[] = [
  [STREAMS, 'read', ['position', 'events']],
  [STREAMS, 'append', []],
  [STREAMS, 'delete', []],
  [STREAMS, 'tombstone', []],
  ['event_store.client.gossip.gossip', 'read', []],
  ['event_store.client.server_features.serverfeatures', 'getsupportedmethods', []],
  ...PERSISTENT.map((name): Method => [PERSISTENT_SERVICE, name, ['stream', 'all']]),
];

/**
 * What clients may call.
 *
 * @param isRestricted whether appends may be denied. Batches are then not offered, though taken: the answer to one
 * append of a batch has no place for the reason that official clients would show.
 */
export const supportedMethods = ({ isRestricted }: { readonly isRestricted: boolean }): SupportedMethods =>
  create(SupportedMethodsSchema, {
    methods: [...METHODS, ...(isRestricted ? [] : [BATCH_APPEND])].map(([serviceName, methodName, features]) => ({
      serviceName,
      methodName,
      features: [...features],
    })),
    eventStoreServerVersion: PROTOCOL_VERSION,
  });
