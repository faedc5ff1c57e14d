import type { DescMethod } from '@bufbuild/protobuf';

import { type ArrivedCall, type DispatchedCall, openCall } from '../../../../services/gateway/dispatch/call.js';
import type { ReceivedRequest } from '../../../../services/gateway/dispatch/target.js';
import { requirementOf } from '../../../../services/gateway/dispatch/requirement.js';
import { endpointOf } from '../../../../services/gateway/routes.js';
import type { AnyRoute } from '../../../../services/kernel/rpc.js';

type Given = Partial<Omit<ArrivedCall, 'endpoint' | 'header'>> & {
  readonly request?: ReceivedRequest;
  readonly headers?: Readonly<Record<string, string>>;
  readonly route?: AnyRoute;
};

/** A call at the beginning of its dispatch. By default, its `receive` resolves to `request`. */
export const callOf = (method: DescMethod, { request, headers = {}, route, ...more }: Given = {}): DispatchedCall =>
  openCall({
    endpoint: endpointOf(method, route, requirementOf(method)),
    transport: 'grpc',
    callersPackage: 'platformidl',
    startedAt: performance.now(),
    deadline: undefined,
    header: (name) => headers[name],
    isCancelled: () => false,
    receive: () => Promise.resolve({ request, bytes: request instanceof Uint8Array ? request.length : 0 }),
    reserveMemory: () => Promise.resolve(),
    reserveAnswer: () => undefined,
    ...more,
  });
