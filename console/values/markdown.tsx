import './markdown.css';

import { createContext, type ReactNode, useContext } from 'react';
import ReactMarkdown, { type Components } from 'react-markdown';

import { LinkOut } from './link-out.js';

type HeadingProps = { readonly children?: ReactNode };

/** All headings are one level below that of the card, so that no level of the page is left out. */
const Heading = ({ children }: HeadingProps): ReactNode => <h3>{children}</h3>;

const InLink = createContext(false);

type ImageProps = { readonly src?: unknown; readonly alt?: string | undefined };

/** The text of an image. It is a link to the image unless it is in a link already, as badges are. */
const Image = ({ src, alt = '' }: ImageProps): ReactNode => {
  const isInLink = useContext(InLink);
  const text = alt === '' ? 'Image' : alt;
  return isInLink ? text : <LinkOut address={typeof src === 'string' ? src : ''} text={text} />;
};

/** The parts of a text that are not shown as they are: links leave the console, and images of others are not loaded. */
const COMPONENTS: Components = {
  h1: Heading,
  h2: Heading,
  h3: Heading,
  h4: Heading,
  h5: Heading,
  h6: Heading,
  a: ({ href = '', children }) => <LinkOut address={href} text={<InLink value>{children}</InLink>} />,
  img: Image,
};

/** The address as it was written: `LinkOut` makes no link of one that could run a script. */
const asWritten = (address: string): string => address;

type MarkdownProps = { readonly text: string };

/** A text of a user in Markdown. HTML in it is shown as text. */
export const Markdown = ({ text }: MarkdownProps): ReactNode => (
  <div className="markdown">
    <ReactMarkdown components={COMPONENTS} urlTransform={asWritten}>
      {text}
    </ReactMarkdown>
  </div>
);
