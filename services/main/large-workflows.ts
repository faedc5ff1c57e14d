import { fromBinary } from '@bufbuild/protobuf';
import { DescriptionEntitySchema } from '../../proto/gen/platformidl/admin/description_entity_pb.js';
import { QualityOfServiceSchema } from '../../proto/gen/platformidl/core/execution_pb.js';
import { TypedInterfaceSchema } from '../../proto/gen/platformidl/core/interface_pb.js';
import type { Version } from '../kernel/identifier.js';
import { RpcError } from '../kernel/rpc.js';
import type { LargeWorkflows } from '../workflow/ports.js';
import type { WorkflowLimits } from '../workflow/registration/compile.js';
import type { LogSource } from './log-source.js';
import type { PayloadSource } from './payloads.js';
import { threadCaller } from './thread-caller.js';
import { waitingBytes } from './waiting-bytes.js';

/** What the thread that compiles is started with. */
export type CompileThreadData = PayloadSource & {
  readonly source: LogSource;
  readonly limits: WorkflowLimits;
};

/** A workflow on its way to the thread. */
export type LargeRequest = { readonly id: Version; readonly request: Uint8Array };

/** What it comes to, on the way back: messages as their bytes. */
export type LargeRegistration = {
  readonly compiled: Uint8Array;
  readonly digest: Uint8Array;
  readonly interface: Uint8Array | undefined;
  readonly qualityOfService: Uint8Array | undefined;
  readonly description: Uint8Array | undefined;
};

/** Workflows that may wait, and their bytes together; another would wait for longer than its caller does. */
const MAX_WAITING = 16;
const MAX_WAITING_BYTES = 128 * 1024 * 1024;

const tooMany = (): RpcError =>
  new RpcError('RESOURCE_EXHAUSTED', 'too many large workflows wait to be compiled; nothing was recorded');

/** Has large workflows compiled on a thread of their own, which starts with the first. */
export const largeWorkflowCompiler = (data: CompileThreadData): LargeWorkflows & { close(): Promise<void> } => {
  const thread = threadCaller<LargeRequest, LargeRegistration>({
    url: new URL('./compile-thread.js', import.meta.url),
    workerData: data,
    maxWaiting: MAX_WAITING,
    tooMany,
  });
  const bounded = waitingBytes(MAX_WAITING_BYTES, tooMany);

  // A copy: the bytes may be a part of a larger buffer, all of which would be sent.
  const compiled = (id: Version, request: Uint8Array): Promise<LargeRegistration> =>
    bounded(request.length, () => thread.ask({ id, request: new Uint8Array(request) }));

  return {
    registrationOf: async (id, request) => {
      const { interface: typed, qualityOfService, description, ...rest } = await compiled(id, request);
      return {
        id,
        ...rest,
        interface: typed && fromBinary(TypedInterfaceSchema, typed),
        qualityOfService: qualityOfService && fromBinary(QualityOfServiceSchema, qualityOfService),
        description: description && fromBinary(DescriptionEntitySchema, description),
      };
    },
    close: () => thread.close(),
  };
};
