import type { DescField, DescMessage } from '@bufbuild/protobuf';

/**
 * Resolves a dotted field path of a message type. Each name may have its proto or its JSON spelling.
 *
 * @returns the fields, outermost first; `undefined` when a name is not a field, or has more names after it but is not a
 * message field.
 */
export const fieldPath = (message: DescMessage, path: string): readonly DescField[] | undefined => {
  const fields: DescField[] = [];
  let within: DescMessage | undefined = message;
  for (const part of path.split('.')) {
    const field: DescField | undefined = within?.fields.find(
      ({ name, jsonName }) => name === part || jsonName === part,
    );
    if (!field) return undefined;
    fields.push(field);
    within = field.fieldKind === 'message' ? field.message : undefined;
  }
  return fields;
};
