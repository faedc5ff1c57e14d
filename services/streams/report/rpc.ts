import { EngineService } from '../../../proto/gen/platformidl/eventlog/engine_service_pb.js';
import { type AnyRoute, bytesRoute } from '../../kernel/rpc.js';
import { reportBatch } from './batch.js';
import { report } from './report.js';

/** The routes by which engines report many events in one call. */
export const reportRoutes: readonly AnyRoute[] = [
  { method: EngineService.method.report, takes: 'batches', open: report },
  // Events are authorized one by one, because checking a whole batch at once would delay all other calls.
  { ...bytesRoute(EngineService.method.reportBatch, reportBatch), large: { aboveBytes: 0, handle: reportBatch } },
];
