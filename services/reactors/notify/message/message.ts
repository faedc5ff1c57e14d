import type { MessageKey } from '../../../notification/commands.js';
import type { MessageContent } from '../message-content.js';
import { escapeHtml, escapeSlack, fillTemplate, onOneLine, valuesOf, wordsOnly } from './template.js';

/** The templates of messages, with placeholders. */
export type Templates = {
  /** The address that mail is from, such as `flightlog <flightlog@example.com>`. */
  readonly sender: string;
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
  readonly content: MessageContent;
  /** The recipient may have it already. */
  readonly isRepeat: boolean;
  /** The names of the executions whose messages this one stands for. */
  readonly digest: readonly string[];
  readonly sender: string;
  /** One line. */
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** The text without the link, escaped for Slack. */
  readonly slack: string;
  /** The address of the execution in a console; empty where none is configured. */
  readonly link: string;
};

const REPEATED = 'This message is sent once more, because it may not have arrived before.';

/** The most executions that a digest names. */
const MAX_NAMED = 20;

/** The sentence about the other executions. Their names have neither markup nor spaces. */
const digestNotes = (names: readonly string[]): readonly string[] => {
  if (names.length === 0) return [];
  const more = names.length > MAX_NAMED ? ', …' : '';
  const named = `${names.slice(0, MAX_NAMED).join(', ')}${more}`;
  return [`This message stands for ${names.length} more about failures of the same launch plan: ${named}.`];
};

/** Text as HTML, with its lines; nothing in it is markup. */
const paragraphOf = (text: string): string => `<p>${escapeHtml(text).replaceAll('\n', '<br>\n')}</p>`;

const linkOf = (link: string): string =>
  link === '' ? '' : `\n<p><a href="${escapeHtml(link)}">${escapeHtml(link)}</a></p>`;

/** Fills the templates. What comes from users is text in each of the forms, never markup. */
export const composeMessage = (
  { sender, subject, body, html, link: linkTemplate }: Templates,
  key: MessageKey,
  content: MessageContent,
  { isRepeat, digest }: Pick<Message, 'isRepeat' | 'digest'>,
): Message => {
  const values = valuesOf(content, linkTemplate);
  const link = values.get('link') ?? '';
  const notes = [...digestNotes(digest), ...(isRepeat ? [REPEATED] : [])];
  const note = notes.map((each) => `\n\n${each}`).join('');
  const text = fillTemplate(body, values).trim();
  const ownHtml = html === '' ? `${paragraphOf(text)}${linkOf(link)}` : fillTemplate(html, values, escapeHtml);
  return {
    key,
    content,
    isRepeat,
    digest,
    link,
    sender: fillTemplate(sender, values, wordsOnly),
    subject: `${onOneLine(fillTemplate(subject, values))}${digest.length === 0 ? '' : ` (and ${digest.length} more)`}`,
    text: `${text}${link === '' ? '' : `\n\n${link}`}${note}`,
    html: `${ownHtml}${notes.map((each) => `\n${paragraphOf(each)}`).join('')}`,
    slack: escapeSlack(`${text}${note}`),
  };
};
