import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';

import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { QueryResult } from '../look/query-result.js';
import { Card } from '../look/page.js';
import { rpcQuery } from '../server/queries.js';
import { Literals } from '../values/literals.js';
import type { ExecutionAsOf } from './moment.js';

/** The inputs and outputs of an execution. */
export const Data = ({ id, asOf }: ExecutionAsOf): ReactNode => {
  const data = useQuery(rpcQuery(AdminService.method.getExecutionData, { id, asOf }));
  return (
    <QueryResult query={data}>
      {({ fullInputs, fullOutputs }) => (
        <div className="two">
          <Card title="Inputs">
            <Literals values={fullInputs} none="It takes no inputs." />
          </Card>
          <Card title="Outputs">
            <Literals values={fullOutputs} none="There are no outputs (yet)." />
          </Card>
        </div>
      )}
    </QueryResult>
  );
};
