import type { MessageInitShape } from '@bufbuild/protobuf';

import type { WorkflowCreateRequestSchema } from '../../../proto/gen/platformidl/admin/workflow_pb.js';
import { ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { HELLO_TASK } from './reports.js';

type Bound = { case: 'stringValue'; value: string } | { case: 'integer'; value: bigint };

const bound = (name: string, value: Bound) => ({
  var: name,
  binding: {
    value: { case: 'scalar' as const, value: { value: { case: 'primitive' as const, value: { value } } } },
  },
});

/** A workflow with `nodes` nodes in parallel chains, each of which runs the task of `01-hello` after the one before. */
export const wideWorkflow = (
  version: string,
  nodes: number,
  chains = 1,
): MessageInitShape<typeof WorkflowCreateRequestSchema> & { id: { version: string } } => {
  const id = {
    resourceType: ResourceType.WORKFLOW,
    project: 'flytesnacks',
    domain: 'development',
    name: 'wide',
    version,
  };
  return {
    id,
    spec: {
      template: {
        id,
        interface: { inputs: { variables: {} }, outputs: { variables: {} } },
        nodes: Array.from({ length: nodes }, (_, at) => ({
          id: `n${at}`,
          metadata: { name: `greeting ${at}` },
          upstreamNodeIds: at < chains ? [] : [`n${at - chains}`],
          inputs: [
            bound('name', { case: 'stringValue', value: `guest ${at}` }),
            bound('times', { case: 'integer', value: 2n }),
          ],
          target: {
            case: 'taskNode' as const,
            value: { reference: { case: 'referenceId' as const, value: HELLO_TASK } },
          },
        })),
      },
    },
  };
};
