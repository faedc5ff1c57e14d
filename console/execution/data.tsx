import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';

import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { QueryResult } from '../look/query-result.js';
import { Card } from '../look/page.js';
import { answerQuery } from '../server/queries.js';
import { Literals } from '../values/literals.js';
import type { ExecutionAsOf } from './moment.js';

/** The inputs and outputs of an execution. */
export const Data = ({ id, asOf }: ExecutionAsOf): ReactNode => {
  const data = useQuery(answerQuery(AdminService.method.getExecutionData, { id, asOf }));
  return (
    <QueryResult query={data}>
      {({ message: { fullInputs, fullOutputs }, unread }) => (
        <div className="two">
          <Card title="Inputs">
            <Literals values={fullInputs} none="It takes no inputs." unread={unread.get('full_inputs')} />
          </Card>
          <Card title="Outputs">
            <Literals values={fullOutputs} none="There are no outputs (yet)." unread={unread.get('full_outputs')} />
          </Card>
        </div>
      )}
    </QueryResult>
  );
};
