import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';

import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { QueryResult } from '../../look/query-result.js';
import { FoldedCard } from '../../look/folded-card.js';
import { answerQuery } from '../../server/queries.js';
import { Literals } from '../../values/literals.js';
import type { ExecutionAsOf } from '../moment.js';

type NodeDataProps = ExecutionAsOf & { readonly nodeId: string };

const Shown = ({ id, asOf, nodeId }: NodeDataProps): ReactNode => {
  const data = useQuery(
    answerQuery(AdminService.method.getNodeExecutionData, { id: { nodeId, executionId: id }, asOf }),
  );
  return (
    <QueryResult query={data}>
      {({ message: { fullInputs, fullOutputs }, unread }) => (
        <>
          <h3 className="card-body">Inputs</h3>
          <Literals values={fullInputs} none="None." unread={unread.get('full_inputs')} />
          <h3 className="card-body">Outputs</h3>
          <Literals values={fullOutputs} none="None (yet)." unread={unread.get('full_outputs')} />
        </>
      )}
    </QueryResult>
  );
};

/** The inputs and outputs of a node; read when opened, because they can be large. */
export const NodeData = (props: NodeDataProps): ReactNode => (
  <FoldedCard title="Inputs and outputs">
    <Shown {...props} />
  </FoldedCard>
);
