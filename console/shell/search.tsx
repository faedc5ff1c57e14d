import { useNavigate } from '@tanstack/react-router';
import type { ReactNode, RefObject, SubmitEvent } from 'react';

import { textIn } from '../look/forms.js';
import type { Scope } from '../server/ids.js';
import { withContained } from '../executions/filter-text.js';

type SearchProps = { readonly scope: Scope; readonly input: RefObject<HTMLInputElement | null> };

/** Leads to the executions whose names contain the text. */
export const Search = ({ scope, input }: SearchProps): ReactNode => {
  const navigate = useNavigate();
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const text = textIn(new FormData(event.currentTarget), 'name');
    const filters = withContained('', 'name', text);
    void navigate({ to: '/projects/$project/domains/$domain/executions', params: scope, search: { filters } });
  };
  return (
    <form role="search" className="search" onSubmit={submit}>
      <input
        ref={input}
        name="name"
        type="search"
        className="field"
        placeholder="Find an execution  /"
        aria-label="Find an execution by its name"
      />
    </form>
  );
};
