import { httpUrl, mountedFile, exactlyOneOf, uniqueBy } from '../meta/schema-parts.js';
import { choice, list, object, type Infer } from '../schema/structural.js';
import { shortName } from './schema-parts.js';

/** What is told, each also with `.resolved` behind it. core/notifications/events.ts says where they come from. */
export const eventNames = [
  'deposit.low',
  'limit.nearly',
  'limit.reached',
  'refusals.rising',
  'paymaster.notServing',
  'key.expiring',
  'webhook.failing',
  'price.jumped',
] as const;
export type EventName = (typeof eventNames)[number];

const notification = object(
  'A host that is told.',
  {
    required: {
      name: shortName('What it is called, e.g. on-call. Its signing key is derived from it.'),
    },
    optional: {
      url: httpUrl(
        'Where messages are posted, e.g. https://ops.example.org/events: a public https host, as for webhooks. For URLs that hold a secret use urlFile.',
        { confidential: true },
      ),
      urlFile: mountedFile(
        'Key of the Secret that is mounted for notifications (paymaster-notification-urls), e.g. slack: one URL.',
      ),
      format: choice(
        'CloudEvents: JSON of CloudEvents 1.0. Slack: the text that incoming webhooks of Slack take, and those of Discord with /slack behind the URL. Default CloudEvents.',
        ['CloudEvents', 'Slack'],
      ),
      events: list('Which events, e.g. [deposit.low]. Absent: all.', choice('An event.', eventNames), {
        minItems: 1,
        maxItems: eventNames.length,
      }),
    },
  },
  exactlyOneOf('url', 'urlFile'),
  {
    rule: "!has(self.format) || self.format != 'Slack' || has(self.urlFile)",
    message: 'must be given by urlFile where format is Slack: anyone who has the URL can post there',
  },
);
export type NotificationSpec = Infer<typeof notification>;

export const notifications = list(
  'Who is told when something needs a person: a deposit that is low, a limit that is nearly used up. Posts are signed like those of webhooks.',
  notification,
  { maxItems: 5 },
  uniqueBy('name', 'notifications'),
);
