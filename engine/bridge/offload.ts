import { createHash } from 'node:crypto';
import { create, toBinary } from '@bufbuild/protobuf';
import { WorkflowClosureSchema } from '../../proto/gen/platformidl/admin/workflow_pb.js';
import { LiteralMapSchema } from '../../proto/gen/platformidl/core/literals_pb.js';
import { type EngineLaunch } from './launch.js';
import { type WorkflowObject } from './object/workflow-object.js';

/** A store that the engines read, for contents that are too large for an object. */
export interface Offloads {
  /** Contents of more bytes, encoded, are stored; others stay in the object. */
  readonly aboveBytes: number;
  /**
   * Stores a content; the same path always has the same bytes.
   *
   * @returns the address by which engines read it, such as `s3://BUCKET/PATH`.
   */
  readonly put: (path: string, bytes: Uint8Array) => Promise<string>;
}

const pathOf = ({ id }: EngineLaunch, kind: string, bytes: Uint8Array): string =>
  `${id.project}/${id.domain}/${kind}/${createHash('sha256').update(bytes).digest('hex')}.pb`;

/**
 * Replaces the closure and the inputs in an object by their addresses, each where it is large. The engine then reads an
 * `admin.WorkflowClosure` and a `core.LiteralMap` there.
 *
 * @see flytepropeller/pkg/controller/handler.go
 */
export const offloaded = async (
  object: WorkflowObject,
  launch: EngineLaunch,
  { aboveBytes, put }: Offloads,
): Promise<WorkflowObject> => {
  const closure = toBinary(WorkflowClosureSchema, create(WorkflowClosureSchema, { compiledWorkflow: launch.closure }));
  const inputs = toBinary(LiteralMapSchema, launch.inputs);
  let left = object;
  if (closure.length > aboveBytes) {
    const { spec: _spec, tasks: _tasks, subWorkflows: _nested, ...rest } = left;
    left = { ...rest, workflowClosureReference: await put(pathOf(launch, 'closures', closure), closure) };
  }
  if (inputs.length > aboveBytes) {
    const { inputs: _inputs, ...rest } = left;
    left = { ...rest, offloadedInputs: await put(pathOf(launch, 'inputs', inputs), inputs) };
  }
  return left;
};
