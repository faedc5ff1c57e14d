import { type ReactNode, useState } from 'react';

import type { Literal } from '../../../proto/gen/platformidl/core/literals_pb.js';
import { SimpleType } from '../../../proto/gen/platformidl/core/types_pb.js';
import type { FieldProps } from './entry.js';
import { ListField } from './list-field.js';
import { MapField } from './map-field.js';
import { membersOf, memberValues } from './members.js';
import { StructField } from './struct-field.js';
import { JsonField, TextField } from './text-field.js';
import { UnionField } from './union-field.js';

/** The form for the parts of a value; `undefined` where there is none, and the value is written as JSON. */
const formOf = (props: FieldProps): ReactNode => {
  const { type } = props.type;
  if (type.case === 'collectionType') return <ListField {...props} Part={Field} element={type.value} />;
  if (type.case === 'mapValueType') return <MapField {...props} Part={Field} value={type.value} />;
  const members = membersOf(props.type);
  const values = members && memberValues(members, props.initial);
  return members && values ? <StructField {...props} Part={Field} members={members} values={values} /> : undefined;
};

/** A value with parts: a form for them, or the whole as JSON. */
const PartsField = (props: FieldProps): ReactNode => {
  const { id, label, initial, change } = props;
  const [value, setValue] = useState<Literal | undefined>(initial);
  const [isJson, setJson] = useState(false);
  const current: FieldProps = {
    ...props,
    initial: value,
    change: (entry) => {
      if (entry.problem === undefined) setValue(entry.literal);
      change(entry);
    },
  };
  /** Shows the last valid value in the other way. It becomes the entry, instead of a text that is no longer shown. */
  const toggle = (): void => {
    setJson(!isJson);
    change(value ? { literal: value } : {});
  };
  const form = isJson ? undefined : formOf(current);
  if (form === undefined && !isJson) return <JsonField {...props} />;
  return (
    <div role="group" aria-label={label} {...(!isJson && { id })} className="field-parts">
      {form ?? <JsonField {...current} />}
      <button type="button" className="chip" onClick={toggle} disabled={isJson && formOf(current) === undefined}>
        {isJson ? `Form for ${label}` : `Write ${label} as JSON`}
      </button>
    </div>
  );
};

/** The input of a value of any type of the interface. */
export const Field = (props: FieldProps): ReactNode => {
  const { type } = props.type;
  if (type.case === 'unionType') return <UnionField {...props} Part={Field} variants={type.value.variants} />;
  const hasParts =
    type.case === 'collectionType' ||
    type.case === 'mapValueType' ||
    (type.case === 'simple' && type.value === SimpleType.STRUCT);
  return hasParts ? <PartsField {...props} /> : <TextField {...props} />;
};
