import { type ReactNode, useState } from 'react';

import { typeInWords } from '../../../interface/values/type-text.js';
import type { Literal } from '../../../proto/gen/platformidl/core/literals_pb.js';
import { type Entry, entryOfStruct, type PartsProps } from './entry.js';
import type { Members } from './members.js';
import { ownValue } from './own.js';

type StructFieldProps = PartsProps & {
  readonly members: Members;
  /** The values of the members at first. */
  readonly values: Readonly<Record<string, Literal>>;
};

/** A struct with a field for each member. */
export const StructField = ({ id, label, type, members, values, change, Part }: StructFieldProps): ReactNode => {
  const [first] = useState(values);
  const [entries, setEntries] = useState<Readonly<Record<string, Entry>>>(() =>
    Object.fromEntries(Object.entries(values).map(([name, literal]) => [name, { literal }])),
  );
  const edit = (name: string, entry: Entry): void => {
    const next = { ...entries, [name]: entry };
    setEntries(next);
    const parts = Object.keys(members.types).map((each) => [each, ownValue(next, each) ?? {}] as const);
    change(entryOfStruct(type, parts, members.required));
  };
  return Object.entries(members.types).map(([name, member]) => (
    <div key={name} className="field-member">
      <label htmlFor={`${id}-${name}`}>
        {name} <span className="type">{typeInWords(member)}</span>
      </label>
      <Part
        id={`${id}-${name}`}
        label={`${label}, ${name}`}
        type={member}
        initial={ownValue(first, name)}
        change={(entry) => edit(name, entry)}
      />
    </div>
  ));
};
