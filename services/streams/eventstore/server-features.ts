import { create } from '@bufbuild/protobuf';
import {
  type SupportedMethods,
  SupportedMethodsSchema,
} from '../../../proto/gen/event_store/client/server_features_pb.js';

/** The release of the protocol that is spoken; clients parse three numbers. */
const PROTOCOL_VERSION = '23.10.6';

const STREAMS = 'event_store.client.streams.streams';

/** In lower case, because most clients compare the names as they are. */
const METHODS: readonly (readonly [service: string, method: string, features: readonly string[]])[] = [
  [STREAMS, 'read', ['position', 'events']],
  [STREAMS, 'append', []],
  [STREAMS, 'batchappend', ['deadline_duration']],
  [STREAMS, 'delete', []],
  [STREAMS, 'tombstone', []],
  ['event_store.client.gossip.gossip', 'read', []],
  ['event_store.client.server_features.serverfeatures', 'getsupportedmethods', []],
];

/** What this server can do. Persistent subscriptions are not among it. */
export const supportedMethods = (): SupportedMethods =>
  create(SupportedMethodsSchema, {
    methods: METHODS.map(([serviceName, methodName, features]) => ({
      serviceName,
      methodName,
      features: [...features],
    })),
    eventStoreServerVersion: PROTOCOL_VERSION,
  });
