import type { Identifier } from '../../proto/gen/platformidl/core/identifier_pb.js';

type Versioned = Pick<Identifier, 'project' | 'domain' | 'name' | 'version'>;

/** The same for the same version of a thing. The kind is not part of it: a reference says its kind by its field. */
export const keyOf = ({ project, domain, name, version }: Versioned): string =>
  JSON.stringify([project, domain, name, version]);

/** For people. */
export const identifierText = ({ project, domain, name, version }: Versioned): string =>
  [project, domain, name, version].join(':');
