import type { ReactNode, SubmitEvent } from 'react';

type Field<Name extends string> = readonly [name: Name, text: string];

type SearchFormProps<Name extends string> = {
  readonly fields: readonly Field<Name>[];
  readonly values: Readonly<Partial<Record<Name, string | undefined>>>;
  readonly action: string;
  /** Called with the fields that are filled in. */
  readonly search: (values: Readonly<Partial<Record<Name, string>>>) => void;
};

/** A row of text fields that a view is searched by. */
export const SearchForm = <Name extends string>(props: SearchFormProps<Name>): ReactNode => {
  const { fields, values, action, search } = props;
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const given = [...new FormData(event.currentTarget)].flatMap(([name, value]) =>
      typeof value === 'string' && value.trim() !== '' ? [[name, value.trim()] as const] : [],
    );
    search(Object.fromEntries(given) as Readonly<Partial<Record<Name, string>>>);
  };
  return (
    <form className="search-form" onSubmit={submit}>
      {fields.map(([name, text]) => (
        <input
          key={name}
          name={name}
          className="field"
          defaultValue={values[name]}
          placeholder={text}
          aria-label={text}
        />
      ))}
      <button type="submit" className="button main">
        {action}
      </button>
    </form>
  );
};
