import { clone, fromBinary, type MessageInitShape } from '@bufbuild/protobuf';

import {
  type ExecutionCreateRequest,
  ExecutionCreateRequestSchema,
} from '../../../proto/gen/platformidl/admin/execution_pb.js';
import { type LiteralSchema } from '../../../proto/gen/platformidl/core/literals_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { fixtureBytes } from './fixtures.js';
import type { ExecutionId } from './reports.js';
import type { Transport } from '../clients/transports.js';

const recorded = fromBinary(ExecutionCreateRequestSchema, fixtureBytes('01-hello/execute-02.create_request.pb'));

/** Makes a literal of an integer or a text. */
export const literal = (value: bigint | string): MessageInitShape<typeof LiteralSchema> => ({
  value: {
    case: 'scalar',
    value: {
      value: {
        case: 'primitive',
        value: {
          value: typeof value === 'bigint' ? { case: 'integer', value } : { case: 'stringValue', value },
        },
      },
    },
  },
});

/** The recorded launch of `01-hello`, under another name and with changes. */
export const helloRequest = (
  name: string,
  change: (request: ExecutionCreateRequest) => void = () => undefined,
): ExecutionCreateRequest => {
  const request = clone(ExecutionCreateRequestSchema, recorded);
  request.name = name;
  change(request);
  return request;
};

/** Launches `01-hello` under the given name. */
export const launchHello = async (transport: Transport, name: string): Promise<ExecutionId> => {
  const { id } = await transport.call(AdminService.method.createExecution, helloRequest(name));
  return id!;
};
