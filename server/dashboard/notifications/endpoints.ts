import { deriveNotificationId } from '../../../core/config/ids.js';
import { DomainError, quote, unlessUnavailable } from '../../../core/errors.js';
import { testMessage } from '../../../core/notifications/message.js';
import { eventNames, type NotificationSpec } from '../../../core/resources/notification.js';
import { formatInstant } from '../../../core/units/time.js';
import { takeDelivery } from '../../http/test-delivery.js';
import type { Call } from '../call.js';
import type { Tools } from '../deps.js';
import { endpoint } from '../endpoint.js';
import { textOrNull, timeOrNull } from '../ledger/schemas.js';
import { text } from '../record-schemas.js';
import { about, shapeOf, showsList, showsOne, wholeList } from '../shape.js';
import { createStates, type State } from './sender.js';

// Entries of the Organisation, which only the platform writes.

type Shown = NotificationSpec & {
  readonly host: string | undefined;
  readonly failing: State['failing'] | undefined;
};

const shape = shapeOf<Shown>()({
  name: [text, 'on-call'],
  format: [text, 'Slack', ({ format = 'CloudEvents' }) => format],
  events: [
    { type: 'array', items: { enum: eventNames } },
    ['deposit.low'],
    ({ events = eventNames }) => events,
  ],
  host: [
    about(textOrNull, 'The rest of the URL may be a secret. Null: the URL cannot be read or used.'),
    'hooks.slack.com',
  ],
  failingSince: [
    about(timeOrNull, 'Null: the last message was delivered, or there was none.'),
    null,
    ({ failing }) => (failing === undefined ? null : formatInstant(failing.since)),
  ],
  failure: [about(textOrNull, 'Why.'), null, ({ failing }) => failing?.detail],
});

const keyShape = shapeOf<{ readonly key: string }>()({
  key: [about(text, 'A secret: the key with which its posts are signed.'), '9f86d081…'],
});

const testShape = shapeOf<{ readonly isDelivered: boolean; readonly detail?: string | undefined }>()({
  delivered: [{ type: 'boolean' }, true, ({ isDelivered }) => isDelivered],
  detail: [about(textOrNull, 'Why not.'), null],
});

/** Throws NOT_FOUND, and UNAVAILABLE where nobody is told. */
function requireNotification(tools: Tools, { principal, params: { name = '' } }: Call) {
  const spec = principal.organisation.spec.notifications?.find((each) => each.name === name);
  if (spec === undefined)
    throw new DomainError('NOT_FOUND', `The organisation has no notification ${quote(name)}`);
  if (tools.notifications === undefined)
    throw new DomainError('UNAVAILABLE', 'This process sends no notifications');
  const { tenant } = principal;
  const receiver = { id: deriveNotificationId(tenant, name), organisation: tenant, spec };
  return { client: tools.notifications, receiver };
}

export const notificationEndpoints = [
  endpoint({
    operationId: 'listNotifications',
    summary: 'Receivers of notifications, their events, and which of them cannot be reached',
    method: 'get',
    path: '/notifications',
    scope: 'organisation',
    needs: ['read'],
    ...showsList(shape),
    async handle(tools, { principal }) {
      const specs = principal.organisation.spec.notifications ?? [];
      const states = (await unlessUnavailable(createStates(tools.texts).read(principal.tenant))) ?? {};
      const shown = specs.map(async (spec) => {
        const host = await tools.notifications?.hostOf(spec);
        return shape.render({ ...spec, host, failing: states[spec.name]?.failing });
      });
      return { data: wholeList(await Promise.all(shown)) };
    },
  }),
  endpoint({
    operationId: 'getNotificationKey',
    summary: 'The key with which the posts of a notification are signed',
    method: 'get',
    path: '/notifications/:name/key',
    scope: 'organisation',
    ...showsOne(keyShape),
    handle: async (tools, call) => {
      const { client, receiver } = requireNotification(tools, call);
      return { data: keyShape.render({ key: client.signingKey(receiver.id) }) };
    },
  }),
  endpoint({
    operationId: 'testNotification',
    summary: 'Post a message, marked as a test, to the host of a notification',
    method: 'post',
    path: '/notifications/:name/test',
    scope: 'organisation',
    cost: 'host',
    ...showsOne(testShape),
    async handle(tools, call) {
      const { client, receiver } = requireNotification(tools, call);
      const { principal, requestId } = call;
      takeDelivery(tools.deliveries, principal.tenant);
      const message = testMessage(principal.organisation.metadata.name, tools.clock.now(), requestId);
      const delivery = await client.send(receiver, message);
      tools.log.info('notification test', { requestId, notification: receiver.spec.name, ...delivery });
      return { data: testShape.render({ detail: undefined, ...delivery }) };
    },
  }),
];
