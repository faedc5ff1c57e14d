import type { DescMethod } from '@bufbuild/protobuf';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { SignalService } from '../../../proto/gen/platformidl/service/signal_pb.js';
import type { Urgency } from '../../kernel/aggregate.js';
import type { Route } from '../../kernel/rpc.js';

const { method: admin } = AdminService;
const STARTS: ReadonlySet<DescMethod> = new Set([
  admin.createExecution,
  admin.relaunchExecution,
  admin.recoverExecution,
]);
/** RPCs whose commands can have the urgency `end`: admission control never rejects such a command. */
const CAN_END: ReadonlySet<DescMethod> = new Set([
  admin.createWorkflowEvent,
  admin.createNodeEvent,
  admin.createTaskEvent,
  admin.terminateExecution,
  SignalService.method.getOrCreateSignal,
  SignalService.method.setSignal,
]);

/** The urgency by which calls of an RPC are admitted before their command is known. */
export const urgencyOf = ({ method }: Route): Urgency =>
  STARTS.has(method) ? 'start' : CAN_END.has(method) ? 'end' : 'progress';
