import type { DescField, DescMessage } from '@bufbuild/protobuf';

/**
 * Resolves a field path of a message type: dotted, each part in the spelling of the interface or of JSON.
 *
 * @returns `undefined` when a part is no field, or not one that has fields of its own.
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
