import './values.css';

import { type ReactNode, useState } from 'react';

import type { Literal, LiteralMap } from '../../proto/gen/platformidl/core/literals_pb.js';
import { LinkOut } from './link-out.js';
import { jsonText, displayValueOf } from './display-value.js';

const FIRST_PARTS = 20;
const LONG_TEXT = 2_000;

const LongText = ({ text }: { readonly text: string }): ReactNode => {
  const [isWhole, setWhole] = useState(false);
  if (text.length <= LONG_TEXT || isWhole) return <pre>{text}</pre>;
  return (
    <>
      <pre>{text.slice(0, LONG_TEXT)}…</pre>
      <button type="button" className="chip" onClick={() => setWhole(true)}>
        Show all {text.length} characters
      </button>
    </>
  );
};

const Parts = ({ parts }: { readonly parts: readonly (readonly [string, Literal])[] }): ReactNode => {
  const [count, setCount] = useState(FIRST_PARTS);
  return (
    <div className="parts">
      <LiteralList literals={parts.slice(0, count)} />
      {parts.length > count && (
        <button type="button" className="chip" onClick={() => setCount(count * 10)}>
          Show more of {parts.length}
        </button>
      )}
    </div>
  );
};

const Value = ({ literal }: { readonly literal: Literal }): ReactNode => {
  const displayed = displayValueOf(literal);
  switch (displayed.kind) {
    case 'text':
      return <LongText text={displayed.text} />;
    case 'data':
      return <LongText text={jsonText(displayed.data)} />;
    case 'address':
      return <LinkOut address={displayed.address} text="Open" />;
    case 'parts':
      return <Parts parts={displayed.parts} />;
  }
};

type LiteralListProps = { readonly literals: readonly (readonly [string, Literal])[] };

const LiteralList = ({ literals }: LiteralListProps): ReactNode => (
  <dl className="literals">
    {literals.map(([name, literal]) => (
      <div key={name}>
        <dt>
          {name} <span className="type">{displayValueOf(literal).type}</span>
        </dt>
        <dd>
          <Value literal={literal} />
        </dd>
      </div>
    ))}
  </dl>
);

type LiteralsProps = {
  readonly values: Pick<LiteralMap, 'literals'> | undefined;
  readonly none: string;
  /** The fault because of which the server could not read the values. */
  readonly unread?: string | undefined;
};

/** Values with their names and types. */
export const Literals = ({ values, none, unread }: LiteralsProps): ReactNode => {
  if (unread !== undefined) return <p className="card-body tone-bad">The server could not read them: {unread}.</p>;
  const literals = Object.entries(values?.literals ?? {});
  return literals.length === 0 ? <p className="card-body quiet">{none}</p> : <LiteralList literals={literals} />;
};
