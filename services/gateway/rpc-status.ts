import { create, toBinary } from '@bufbuild/protobuf';
import { type Any, AnySchema } from '@bufbuild/protobuf/wkt';

import { StatusSchema, type Status } from '../../proto/gen/google/rpc/status_pb.js';
import type { StatusDetail } from '../kernel/rpc.js';
import { type RpcFailure, statuses } from './status.js';

/** The package of the interface's own descriptors. */
export const OWN_PACKAGE = 'platformidl';

/** The package names that callers may use for the same services and messages. */
export const PACKAGES = [OWN_PACKAGE, 'flyteidl'] as const;

const pack = (detail: StatusDetail, callersPackage: string): Any => {
  const typeName = detail.schema.typeName.replace(/^platformidl(?=\.)/, callersPackage);
  const value = toBinary(detail.schema, detail.message);
  return create(AnySchema, { typeUrl: `type.googleapis.com/${typeName}`, value });
};

/** Converts a failure to `google.rpc.Status`, with the type names of its details in the caller's package. */
export const rpcStatus = (failure: RpcFailure, callersPackage: string): Status =>
  create(StatusSchema, {
    code: statuses[failure.code].number,
    message: failure.message,
    details: failure.details.map((detail) => pack(detail, callersPackage)),
  });

/** Encodes the result of {@link rpcStatus}. */
export const rpcStatusBytes = (failure: RpcFailure, callersPackage: string): Uint8Array =>
  toBinary(StatusSchema, rpcStatus(failure, callersPackage));
