import type { Identifier } from '../../proto/gen/platformidl/core/identifier_pb.js';

type Versioned = Pick<Identifier, 'project' | 'domain' | 'name' | 'version'>;

/**
 * A key that is equal for equal versions. It does not contain the resource type, which the field of a reference
 * implies.
 */
export const identifierKey = ({ project, domain, name, version }: Versioned): string =>
  JSON.stringify([project, domain, name, version]);

/** Formats an identifier for people. */
export const identifierText = ({ project, domain, name, version }: Versioned): string =>
  [project, domain, name, version].join(':');
