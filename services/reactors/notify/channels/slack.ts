import { escapeSlack } from '../message/template.js';
import { outcomeOf } from './answers.js';
import type { Channel } from './channel.js';
import { post } from './post.js';
import type { WebhookTarget } from './webhook.js';

/** The longest text that Slack takes in a section. */
const MAX_TEXT = 3_000;

/** Messages to an incoming webhook of Slack. */
export const slackChannel = ({ now, ...target }: WebhookTarget): Channel => ({
  isMail: false,
  send: async ({ slack, subject }, signal) => {
    const blocks = [{ type: 'section', text: { type: 'mrkdwn', text: slack.slice(0, MAX_TEXT) } }];
    const body = JSON.stringify({ text: escapeSlack(subject), blocks });
    const headers = { 'content-type': 'application/json; charset=utf-8' };
    return outcomeOf(await post({ ...target, headers, body }, signal), now());
  },
  close: () => undefined,
});
