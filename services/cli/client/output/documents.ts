import { createRegistry, type DescFile, type DescMessage, type JsonValue, type MessageShape } from '@bufbuild/protobuf';
import { yaml } from '../../../config/yaml.js';
import { messageJson } from '../../../kernel/encoding/message-json.js';
import { AdminService } from '../../../../proto/gen/platformidl/service/admin_pb.js';

/** The forms of an answer: a table for people, documents for programs, or names alone. */
export const FORMS = ['table', 'json', 'yaml', 'name'] as const;

export type Form = (typeof FORMS)[number];

/** The forms of documents for programs. */
export type DocumentForm = 'json' | 'yaml';

const withDependencies = (file: DescFile): readonly DescFile[] => [
  file,
  ...file.dependencies.flatMap(withDependencies),
];

const registry = createRegistry(...new Set(withDependencies(AdminService.file)));

/**
 * A message as JSON in lowerCamelCase. Fields without a value are there as well, except members of a oneof, and
 * messages, for which the server writes `null` over REST.
 */
export const jsonOfMessage = <Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc>): JsonValue =>
  messageJson(schema, message, { alwaysEmitImplicit: true, registry });

/** A document as text. */
export const documentText = (form: DocumentForm, document: JsonValue): string =>
  form === 'json' ? JSON.stringify(document, null, 2) : yaml().stringify(document).trimEnd();

/** One of many documents as text: JSON in one line, or YAML that begins with `---`. */
export const oneOfManyText = (form: DocumentForm, document: JsonValue): string =>
  form === 'json' ? JSON.stringify(document) : `---\n${documentText(form, document)}`;

/** Writes a line to standard output. */
export const print = (line: string): void => {
  process.stdout.write(`${line}\n`);
};
