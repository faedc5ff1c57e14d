import { expect, it } from 'vitest';

import { AsyncAgentService } from '../../../proto/gen/platformidl/service/agent_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { transport } from '../../support/clients/transports.js';

it('a transport of the tests sends no request to another service that has an RPC of the same name', () => {
  const sent: string[] = [];
  const { attempt } = transport('none', 'platformidl', (rpc) => {
    sent.push(rpc);
    return Promise.resolve({
      ...{ code: 'OK', message: '', details: [], bytes: new Uint8Array() },
      ...{ position: undefined, unread: undefined },
    });
  });
  expect(() => attempt(AsyncAgentService.method.getTask, {})).toThrow('go to platformidl.service.AdminService');
  void attempt(AdminService.method.getTask, {});
  expect(sent).toEqual(['GetTask']);
});
