import { type MessageInitShape } from '@bufbuild/protobuf';
import { status } from '@grpc/grpc-js';
import { type SignalGetOrCreateRequestSchema } from '../proto/gen/platformidl/admin/signal_pb.js';
import { type Literal } from '../proto/gen/platformidl/core/literals_pb.js';
import { SignalService } from '../proto/gen/platformidl/service/signal_pb.js';
import { CallError } from './call-error.js';
import { type InterfaceClient } from './client.js';

/** Reads the value of a signal; `undefined` when it has none yet. The call creates the signal if it does not exist. */
export const readSignal = async (
  client: InterfaceClient,
  request: MessageInitShape<typeof SignalGetOrCreateRequestSchema>,
): Promise<Literal | undefined> => {
  try {
    return (await client.call(SignalService.method.getOrCreateSignal, request)).value;
  } catch (error) {
    // A control plane without signals leaves the gate closed: the execution can only be aborted.
    if (error instanceof CallError && error.code === status.UNIMPLEMENTED) return undefined;
    throw error;
  }
};
