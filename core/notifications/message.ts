import { cleanReason } from '../policy/webhook/host-reason.js';
import { formatInstant, type EpochMs } from '../units/time.js';
import type { NotificationSpec } from '../resources/notification.js';
import type { Post } from './compare.js';
import { events } from './events.js';

/** A post, or a test, as its receiver gets it. */
export type Message = {
  readonly id: string;
  /** The event, with `.resolved` where it is over; `test` for a test. */
  readonly type: string;
  readonly organisation: string;
  readonly at: EpochMs;
  /** What has happened, in one line. */
  readonly what: string;
  /** Of how many things; `items` has the first. */
  readonly count: number;
  readonly items: readonly {
    readonly subject: string;
    readonly title: string;
    readonly message: string;
  }[];
  readonly isTest?: true;
};

const maxItems = 10;
const maxTextLength = 300;

export function messageOf(organisation: string, at: EpochMs, post: Post): Message {
  const { id, event, isResolved, things } = post;
  return {
    id,
    type: isResolved ? `${event}.resolved` : event,
    organisation,
    at,
    what: `${isResolved ? 'Resolved: ' : ''}${events[event].what}`,
    count: things.reduce((sum, { count = 1 }) => sum + count, 0),
    items: things
      .filter(({ count }) => count === undefined)
      .slice(0, maxItems)
      .map(({ subject, title, message }) => ({
        subject,
        title: shortened(title),
        message: shortened(message),
      })),
  };
}

export function testMessage(organisation: string, at: EpochMs, id: string): Message {
  const what = 'A test of this notification: nothing has happened';
  return { id, type: 'test', organisation, at, what, count: 0, items: [], isTest: true };
}

type Encoding = { readonly contentType: string; readonly encode: (message: Message) => object };

export const formats = {
  CloudEvents: {
    contentType: 'application/cloudevents+json',
    encode: ({ id, type, organisation, at, what, count, items }) => ({
      specversion: '1.0',
      id,
      source: `/organisations/${organisation}`,
      type,
      time: formatInstant(at),
      datacontenttype: 'application/json',
      data: { organisation, what, count, items },
    }),
  },
  Slack: {
    contentType: 'application/json',
    encode: (message) => ({
      text: slackText(message),
      // Nothing in it is markup, a link to look at or a name to call.
      mrkdwn: false,
      link_names: false,
      unfurl_links: false,
      unfurl_media: false,
    }),
  },
} as const satisfies Record<NonNullable<NotificationSpec['format']>, Encoding>;

function slackText({ type, organisation, what, count, items }: Message): string {
  const more = count - items.length;
  return [
    `${plain(organisation)}: ${type}. ${what}.`,
    ...items.map(({ title, message }) => `• ${plain(title)}${message === '' ? '' : `: ${plain(message)}`}`),
    ...(more > 0 ? [`… and ${more} more`] : []),
  ].join('\n');
}

/**
 * Names and messages hold what tenants write. On one line, without Slack's `<!channel>`, without Discord's @everyone and Markdown links,
 * and without an address that becomes a link.
 */
function plain(text: string): string {
  return (cleanReason(text) ?? '')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replace(/@|:\/\/|\]/g, (mark) => `${mark}\u200b`);
}

function shortened(text: string): string {
  return text.length <= maxTextLength ? text : `${text.slice(0, maxTextLength - 1).toWellFormed()}…`;
}
