import type { Message } from '../message/message.js';
import { escapeSlack } from '../message/template.js';
import { outcomeOf } from './answers.js';
import type { Channel } from './channel.js';
import { post } from './post.js';
import type { WebhookTarget } from './webhook.js';

/** The longest text that Slack takes in a section. */
const MAX_TEXT = 3_000;

/** The beginning of escaped text; neither a character that was escaped nor one of two code units is cut. */
const beginningOf = (escaped: string): string => escaped.slice(0, MAX_TEXT).replace(/(?:&[a-z]*|\p{Cs})$/u, '');

/** Only the link is markup, and of what comes from users it has only values encoded for URLs. */
const blocksOf = ({ slack, link }: Message) => [
  { type: 'section', text: { type: 'plain_text', text: beginningOf(slack), emoji: false } },
  ...(link === '' ? [] : [{ type: 'section', text: { type: 'mrkdwn', text: `<${escapeSlack(link)}>` } }]),
];

/** Messages to an incoming webhook of Slack. */
export const slackChannel = ({ now, ...target }: WebhookTarget): Channel => ({
  isMail: false,
  send: async (message, signal) => {
    const body = JSON.stringify({ text: escapeSlack(message.subject), mrkdwn: false, blocks: blocksOf(message) });
    const headers = { 'content-type': 'application/json; charset=utf-8' };
    return outcomeOf(await post({ ...target, headers, body }, signal), now());
  },
  close: () => undefined,
});
