import { cleanReason } from '../policy/webhook/host-reason.js';
import { formatInstant, type EpochMs } from '../units/time.js';
import type { NotificationSpec } from '../resources/notification.js';
import type { Post } from './compare.js';
import { events } from './events.js';

/** A post, or a test, as a CloudEvent. */
export type Message = ReturnType<typeof cloudEvent>;

type Data = {
  /** What has happened, in one line. */
  readonly what: string;
  /** How many subjects the event is about; `items` has the first of them. */
  readonly count: number;
  readonly items: readonly { readonly subject: string; readonly title: string; readonly message: string }[];
};

export const testType = 'test';
const maxItems = 10;
const maxTextLength = 300;

/** `type`: the event, with `.resolved` where it is over. */
function cloudEvent(organisation: string, at: EpochMs, id: string, type: string, data: Data) {
  return {
    specversion: '1.0',
    id,
    source: `/organisations/${organisation}`,
    type,
    time: formatInstant(at),
    datacontenttype: 'application/json',
    data: { organisation, ...data },
  } as const;
}

export function composeMessage(organisation: string, at: EpochMs, post: Post): Message {
  const { id, event, isResolved, things } = post;
  const items = things
    .filter(({ count }) => count === undefined)
    .slice(0, maxItems)
    .map(({ subject, title, message }) => ({
      subject,
      title: shortened(title),
      message: shortened(message),
    }));
  return cloudEvent(organisation, at, id, isResolved ? `${event}.resolved` : event, {
    what: `${isResolved ? 'Resolved: ' : ''}${events[event].what}`,
    count: things.reduce((sum, { count = 1 }) => sum + count, 0),
    items,
  });
}

export function testMessage(organisation: string, at: EpochMs, id: string): Message {
  const what = 'A test of this notification: nothing has happened';
  return cloudEvent(organisation, at, id, testType, { what, count: 0, items: [] });
}

export const formats = {
  CloudEvents: { contentType: 'application/cloudevents+json', encode: (message: Message): object => message },
  Slack: {
    contentType: 'application/json',
    // No markup, no mention of a person, no preview of a link.
    encode: (message: Message): object => ({
      text: slackText(message),
      mrkdwn: false,
      link_names: false,
      unfurl_links: false,
      unfurl_media: false,
    }),
  },
} as const satisfies Record<NonNullable<NotificationSpec['format']>, object>;

export function slackText({ type, data: { organisation, what, count, items } }: Message): string {
  const more = count - items.length;
  return [
    `${plain(organisation)}: ${type}. ${what}.`,
    ...items.map(
      ({ title, message }) =>
        `• ${[title, message]
          .filter((text) => text !== '')
          .map(plain)
          .join(': ')}`,
    ),
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
