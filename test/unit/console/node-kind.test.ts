import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';

import { kindOf } from '../../../console/execution/nodes/node-kind.js';
import { NodeExecutionSchema } from '../../../proto/gen/platformidl/admin/node_execution_pb.js';
import { NodeExecution_Phase as Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';

it.each<[kind: string, node: MessageInitShape<typeof NodeExecutionSchema>]>([
  ['', { closure: { phase: Phase.SUCCEEDED } }],
  ['recovered', { closure: { phase: Phase.RECOVERED } }],
  ['recovered', { closure: { phase: Phase.RECOVERED }, metadata: { isArray: true } }],
  ['map', { closure: { phase: Phase.SUCCEEDED }, metadata: { isArray: true } }],
])('the word beside a node is “%s”', (kind, node) => expect(kindOf(create(NodeExecutionSchema, node))).toBe(kind));
