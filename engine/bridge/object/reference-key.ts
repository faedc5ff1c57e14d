import { type Identifier, ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';

/** The key of a task or a sub-workflow in a `FlyteWorkflow` object; its nodes refer to it by the same text. */
export const referenceKey = ({ resourceType, project, domain, name, version }: Identifier): string =>
  [
    `resource_type:${ResourceType[resourceType]}`,
    ...Object.entries({ project, domain, name, version }).map(([field, text]) => `${field}:${JSON.stringify(text)}`),
  ].join(' ');
