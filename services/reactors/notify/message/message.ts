import type { MessageKey } from '../../../notification/commands.js';
import type { Facts } from '../facts.js';
import { escapeHtml, escapeSlack, fill, onOneLine, valuesOf } from './template.js';

/** The templates of messages, with placeholders. */
export type Templates = {
  readonly subject: string;
  readonly body: string;
  /** The body in HTML; made from `body` where it is empty. */
  readonly html: string;
  /** The address of an execution in a console. */
  readonly link: string;
};

/** A message as it is sent. */
export type Message = {
  readonly key: MessageKey;
  readonly facts: Facts;
  /** The recipient may have it already. */
  readonly isRepeat: boolean;
  /** One line. */
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** In the markup of Slack. */
  readonly slack: string;
  /** The address of the execution in a console; empty where none is configured. */
  readonly link: string;
};

const REPEATED = 'This message is sent once more, because it may not have arrived before.';

/** Text as HTML, with its lines; nothing in it is markup. */
const paragraphOf = (text: string): string => `<p>${escapeHtml(text).replaceAll('\n', '<br>\n')}</p>`;

const linkOf = (link: string): string =>
  link === '' ? '' : `\n<p><a href="${escapeHtml(link)}">${escapeHtml(link)}</a></p>`;

/** Fills the templates. What comes from users is text in each of the forms, never markup. */
export const composeMessage = (
  { subject, body, html, link: linkTemplate }: Templates,
  key: MessageKey,
  facts: Facts,
  isRepeat: boolean,
): Message => {
  const values = valuesOf(facts, linkTemplate);
  const link = values.get('link') ?? '';
  const note = isRepeat ? `\n\n${REPEATED}` : '';
  const text = fill(body, values).trim();
  const ownHtml = html === '' ? `${paragraphOf(text)}${linkOf(link)}` : fill(html, values, escapeHtml);
  return {
    key,
    facts,
    isRepeat,
    link,
    subject: onOneLine(fill(subject, values)),
    text: `${text}${link === '' ? '' : `\n\n${link}`}${note}`,
    html: `${ownHtml}${isRepeat ? `\n<p>${REPEATED}</p>` : ''}`,
    slack: `${fill(escapeSlack(body), values, escapeSlack).trim()}${link === '' ? '' : `\n${escapeSlack(link)}`}${note}`,
  };
};
