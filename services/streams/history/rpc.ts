import { HistoryService } from '../../../proto/gen/platformidl/eventlog/history_pb.js';
import { type Route, route } from '../../kernel/rpc.js';
import { type HistorySources, listTransitions } from './page.js';

/** Routes of the history. They read whole streams, so they must not run on the thread that serves requests. */
export const historyRoutes = (sources: HistorySources): readonly Route[] => [
  route(HistoryService.method.listTransitions, (request) => listTransitions(sources, request)),
];
