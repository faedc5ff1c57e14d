import { create } from '@bufbuild/protobuf';
import {
  type SupportedMethods,
  SupportedMethodsSchema,
} from '../../../proto/gen/event_store/client/server_features_pb.js';
import { PROTOCOL_VERSION } from './node.js';

const PERSISTENT_SERVICE = 'event_store.client.persistent_subscriptions.persistentsubscriptions';
const STREAMS = 'event_store.client.streams.streams';

/** Names are in lower case, because most clients compare them case-sensitively. */
type Method = readonly [service: string, method: string, features: readonly string[]];

const BATCH_APPEND: Method = [STREAMS, 'batchappend', ['deadline_duration']];

/** The methods of persistent subscriptions. */
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
 * Lists the methods that clients may call.
 *
 * @param isRestricted true when appends may be denied. BatchAppend is then served but not listed: official clients
 * show no reason for a denied append of a batch.
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
