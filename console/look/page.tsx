import { type ReactNode, useEffect } from 'react';

type PageProps = {
  readonly title: string;
  readonly above?: ReactNode;
  readonly beside?: ReactNode;
  readonly children: ReactNode;
};

/** A view: its heading, with the place of the view above it and the actions beside it, and its content. */
export const Page = ({ title, above, beside, children }: PageProps): ReactNode => {
  useEffect(() => {
    document.title = `${title} · flightlog`;
  }, [title]);
  return (
    <div className="page">
      <header className="page-head">
        <div>
          {above !== undefined && <div className="above">{above}</div>}
          <h1>{title}</h1>
        </div>
        {beside !== undefined && <div className="beside">{beside}</div>}
      </header>
      {children}
    </div>
  );
};

type CardProps = {
  readonly title?: ReactNode;
  readonly beside?: ReactNode;
  readonly children: ReactNode;
  readonly className?: string;
};

export const Card = ({ title, beside, children, className = '' }: CardProps): ReactNode => (
  <section className={`card ${className}`}>
    {title !== undefined && (
      <header className="card-head">
        <h2>{title}</h2>
        {beside}
      </header>
    )}
    {children}
  </section>
);

type FactsProps = { readonly facts: readonly (readonly [string, ReactNode])[] };

/** Names with their values; those without a value are left out. */
export const Facts = ({ facts }: FactsProps): ReactNode => (
  <dl className="facts">
    {facts
      .filter(([, value]) => value !== undefined && value !== '' && value !== false)
      .map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
  </dl>
);
