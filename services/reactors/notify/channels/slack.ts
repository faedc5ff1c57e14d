import type { Message } from '../message/message.js';
import { beginningOf, escapeSlack } from '../message/template.js';
import type { Channel } from './channel.js';
import { outcomeOf, post } from './post.js';
import type { WebhookTarget } from './webhook.js';

/** The longest text that Slack takes in a section. */
const MAX_TEXT = 3_000;

/** The beginning of escaped text; a character that was escaped is not cut. */
const beginningOfEscaped = (escaped: string): string => beginningOf(escaped, MAX_TEXT).replace(/&[a-z]*$/u, '');

/** Only the link is markup; values from users in it are encoded for URLs. */
const blocksOf = ({ slack, link }: Message) => [
  { type: 'section', text: { type: 'plain_text', text: beginningOfEscaped(slack), emoji: false } },
  ...(link === '' ? [] : [{ type: 'section', text: { type: 'mrkdwn', text: `<${escapeSlack(link)}>` } }]),
];

/** Sends messages to an incoming webhook of Slack. `now` is the time from which a date in `Retry-After` is counted. */
export const slackChannel = ({ now, ...target }: WebhookTarget): Channel => ({
  isMail: false,
  send: async (message, signal) => {
    const body = JSON.stringify({ text: escapeSlack(message.subject), mrkdwn: false, blocks: blocksOf(message) });
    const headers = { 'content-type': 'application/json; charset=utf-8' };
    return outcomeOf(await post({ ...target, headers, body }, signal), now());
  },
  close: () => undefined,
});
