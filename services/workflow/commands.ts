import type { DescriptionEntity } from '../../proto/gen/platformidl/admin/description_entity_pb.js';
import type { QualityOfService } from '../../proto/gen/platformidl/core/execution_pb.js';
import type { TypedInterface } from '../../proto/gen/platformidl/core/interface_pb.js';
import type { Version } from '../kernel/identifier.js';

/** Registers one version of a workflow. */
export type RegisterWorkflow = {
  readonly id: Version;
  /** `core.CompiledWorkflowClosure`. */
  readonly compiled: Uint8Array;
  /** The digest of the compiled closure in canonical form. */
  readonly digest: Uint8Array;
  readonly interface: TypedInterface | undefined;
  readonly qualityOfService: QualityOfService | undefined;
  readonly description: DescriptionEntity | undefined;
};
